"""Values, known and unknown, and what operators and conversions make of them."""
