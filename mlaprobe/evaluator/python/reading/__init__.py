"""What Python reads once: files beside its modules, and functions that keep what they read."""
