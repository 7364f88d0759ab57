"""What the C++ library provides besides containers: algorithms, and functions on objects."""
