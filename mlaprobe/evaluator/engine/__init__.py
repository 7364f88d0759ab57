"""The abstract machine: runs compiled functions on every path."""
