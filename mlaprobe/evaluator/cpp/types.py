"""C++ types as far as they matter here."""

from __future__ import annotations

import re
from typing import Any

from mlaprobe.evaluator.ir import CType, Span
from mlaprobe.evaluator.values import Unknown

_INTS: dict[str, tuple[str, int]] = {
    **{f"int{bits}_t": ("int", bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": ("unsigned", bits) for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("long", "long long", "ssize_t", "ptrdiff_t", "intptr_t"), ("int", 64)),
    **dict.fromkeys(("int", "index_t"), ("int", 32)),
    "short": ("int", 16),
    "char": ("int", 8),
    **dict.fromkeys(("unsigned long", "unsigned long long"), ("unsigned", 64)),
    **dict.fromkeys(("size_t", "uintptr_t"), ("unsigned", 64)),
    **dict.fromkeys(("unsigned", "unsigned int"), ("unsigned", 32)),
    "unsigned short": ("unsigned", 16),
    "unsigned char": ("unsigned", 8),
}
_EXTERNAL = {"hk::fp8e4m3": 1, "hk::bf16": 2}
"""Bytes of HipKittens' element types (``__hip_fp8_e4m3`` and ``__hip_bfloat16``), which AITER uses
and does not contain."""
TYPE = "type\0"
"""What a constant begins with that stands for a type among template arguments, as no text does."""
_DROPPED = re.compile(
    r"\b(const|constexpr|static|inline|volatile|mutable|extern|register|thread_local|typename"
    r"|struct|class|enum|signed)\b|\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)"
)
DEDUCED = "decltype(auto)"
"""The type of what may be a reference or not."""
_STRINGS = ("string", "string_view")
STREAMS = ("std::ostringstream", "std::stringstream", "std::ostream")
"""Streams that hold a text."""
SCALARS = ("int", "unsigned", "bool", "float")
"""Kinds of types that hold a number."""


def parse_type(text: str, *, ref: bool = False, pointer: bool = False) -> CType:
    """A type from its text; ``ref`` and ``pointer`` are what the declarator adds."""
    const = bool(re.search(r"\b(const|constexpr)\b", text))
    bare = _DROPPED.sub(" ", text)
    ref = ref or "&" in _outside_angles(bare)
    pointer = pointer or "*" in _outside_angles(bare)
    name = re.sub(r"\s*([<>,:])\s*", r"\1", " ".join(_strip_declarator(bare).split()))
    plain = name.removeprefix("std::").removeprefix("::")
    kind, bits = "other", 32
    if (number := _INTS.get(plain) or _INTS.get(plain.removesuffix(" int"))) is not None:
        kind, bits = number
    elif plain == "bool":
        kind = "bool"
    elif plain in ("float", "double"):
        kind = "float"
    elif plain in _STRINGS or name in STREAMS:
        kind = "string"
    elif plain in ("auto", DEDUCED, ""):
        kind = "auto"
    elif plain == "void":
        kind = "void"
    if pointer and plain == "char":
        return CType("string", "char", const=const)
    return CType(kind, name, bits, const=const, ref=ref, pointer=pointer)


def bytes_of(text: str) -> int | None:
    """The size of a type by its text; ``None`` where it is not known."""
    ctype = parse_type(text)
    if ctype.pointer or ctype.ref:
        return None
    if ctype.kind in ("int", "unsigned"):
        return ctype.bits // 8
    plain = ctype.name.removeprefix("std::")
    return {"bool": 1, "float": 4, "double": 8}.get(plain, _EXTERNAL.get(plain))


def _outside_angles(text: str) -> str:
    return re.sub(r"<.*>", "", text, flags=re.DOTALL)


def _strip_declarator(text: str) -> str:
    head, sep, tail = text.partition("<")
    if not sep:
        return head.replace("*", " ").replace("&", " ")
    inner, _, after = tail.rpartition(">")
    return head + "<" + inner + ">" + after.replace("*", " ").replace("&", " ")


def template_of(name: str) -> tuple[str, tuple[str, ...]]:
    """The name of a class template and its arguments: ``std::pair<int,bool>`` is
    ``("std::pair", ("int", "bool"))``."""
    head, _, rest = name.partition("<")
    parts, depth = [""], 0
    for char in rest.rpartition(">")[0]:
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return head.strip(), tuple(part.strip() for part in parts if part.strip())


def zero_of(ctype: CType, span: Span) -> Any:
    """What value-initialisation gives."""
    if ctype.pointer:
        return None
    zeros: dict[str, Any] = {"int": 0, "unsigned": 0, "bool": False, "float": 0.0, "string": ""}
    if ctype.kind in zeros:
        return zeros[ctype.kind]
    return Unknown(f"initial value of a {ctype.name}", span)
