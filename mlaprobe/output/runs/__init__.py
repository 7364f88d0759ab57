"""Runs of a decode, of a bench and of kernels: as text and as JSON."""
