"""Back ends of decode, one module each, behind ``interface.Backend``."""
