"""C++ and Python text to something that can be evaluated. Nothing in here knows AITER.

Two frontends (``cpp`` and ``python``) translate their language into one small intermediate form
(``ir``), and one abstract machine (``engine``) runs it with three-valued logic, over values
(``values``) that may be unknown and numbers that remember their formula (``symbolic``).
"""
