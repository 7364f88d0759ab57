"""C++: from text, macros and all, to the intermediate form."""
