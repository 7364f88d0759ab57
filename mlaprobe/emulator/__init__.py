"""AMD's matrix GPUs (CDNA3, CDNA4) instruction by instruction. Knows nothing of AITER."""
