"""AITER's own file formats: kernel tables and code objects."""
