"""The words of the field as data, and what every room may use."""
