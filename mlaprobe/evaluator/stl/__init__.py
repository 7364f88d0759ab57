"""Containers of the C++ library, with one model for all, and places inside values."""
