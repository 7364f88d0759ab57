"""Batches that are emulated: their values, what attention gives for them, and work metadata."""
