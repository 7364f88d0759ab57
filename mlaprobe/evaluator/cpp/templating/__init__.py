"""Which template, or which of its parameters, arguments mean."""
