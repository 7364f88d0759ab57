"""What one AITER contradicts itself in: facts, and rules that make findings of them."""
