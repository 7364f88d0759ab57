"""The types that the signatures of the machine are made of."""

from __future__ import annotations

from typing import Any, TypeAlias

Value: TypeAlias = Any
"""A value of the analysed program: a plain ``int``, ``bool``, ``float``, ``str``, ``None``,
``tuple``, ``list``, ``dict``, ``set`` or ``range``, a number with a formula (``Sym``), an
``Unknown``, or one of the classes of ``kinds.py``."""
Args: TypeAlias = tuple[Value, ...]
"""The positional arguments of a call."""
Kwargs: TypeAlias = dict[str, Value]
"""The keyword arguments of a call, by name."""
