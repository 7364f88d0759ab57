"""The names of a module, as far as its text shows what binds and changes them."""
