"""What AITER's code runs in: one source, its modules, and models of everything outside."""
