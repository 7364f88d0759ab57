"""Numbers that remember their formula, path conditions, and decision trees over them."""
