"""Numbers that remember their formula, and what a run asked of them."""
