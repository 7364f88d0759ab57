"""The dispatcher: what it calls, and with which tensors."""
