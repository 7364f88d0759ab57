"""The compilation of the intermediate form to Python closures."""
