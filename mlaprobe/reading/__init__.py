"""Text to something that can be evaluated: C++, macros, Python, kernel tables, code objects.

Nothing in here knows AITER. Two frontends (``cpp`` and ``python``) translate their language into
one small intermediate form (``ir``), and one abstract machine (``machine``) runs it with
three-valued logic.
"""
