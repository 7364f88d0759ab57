"""Objects of Python: classes, enums, iterators, dicts and sets."""
