"""What AITER's kernels and device functions do with a concrete batch, without a GPU."""
