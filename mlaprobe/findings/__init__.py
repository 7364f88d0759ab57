"""What one AITER contradicts itself in: facts, and the rules that make findings of them."""
