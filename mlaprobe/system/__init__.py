"""This machine: its GPUs, its ROCm, and what to do about what is missing."""
