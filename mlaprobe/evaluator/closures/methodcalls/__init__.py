"""Methods of values, as closures call them."""
