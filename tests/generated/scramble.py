"""Rewrites of source text that must not matter."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(
    r"""
    (?P<line>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)     # a directive, with its continuation lines
    |(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:[^"\\\n]|\\.)*")
    |(?P<word>[A-Za-z_]\w*|\d[\w.]*)
    |(?P<space>\s+)
    |(?P<op><<<|>>>|<<=|>>=|->|::|\+\+|--|&&|\|\||[=!<>+\-*/%&|^]=|<<|>>|\[\[|\]\]|.)
    """,
    re.X | re.S | re.M,
)
_NOISE = (
    " ",
    "  ",
    "\n",
    "\t",
    " /* (num_heads == 24) || */ ",
    " // natively_supported = true;\n",
    "\n#if 0\nnum_heads = 24;\n#endif\n",
    "\n#ifdef NEVER_DEFINED\nreturn;\n#else\n#endif\n",
)
_RENAMED = ("q_is_fp8", "kv_is_fp8", "natively_supported", "arch_id")


def scrambled_cpp(text: str, random: Random) -> str:
    """Other spacing, comments and dead code between the tokens, other names of local variables."""
    names = {n: f"{n}_{random.randint(2, 9)}" for n in _RENAMED if random.random() < 0.4}
    parts: list[str] = []
    for found in _TOKEN.finditer(text):
        kind, token = found.lastgroup, found.group()
        if kind == "line":
            renamed = re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m[0], m[0]), token)
            parts.append(renamed)
            continue
        parts.append(names.get(token, token) if kind == "word" else token)
        if kind in ("word", "op", "text") and random.random() < 0.08:
            after = text[found.end() : found.end() + 1]
            joined = token in ("<", ">", "<<<", ">>>", "#") or after in "<>#"
            if not joined:
                parts.append(random.choice(_NOISE))
    return "".join(parts)


def scrambled_python(text: str, random: Random) -> str:
    """Comments, empty lines, dead branches and docstrings between the statements."""
    lines: list[str] = []
    depth = 0
    for line in text.split("\n"):
        opened = depth > 0
        depth += sum(line.count(c) for c in "([{") - sum(line.count(c) for c in ")]}")
        stripped = line.lstrip()
        starts = stripped and not stripped.startswith(("else", "elif", "except", "finally", "case"))
        last = next((known for known in reversed(lines) if known.strip()), "")
        after_decorator = last.lstrip().startswith("@")
        if not (opened or after_decorator) and starts and random.random() < 0.15:
            indent = line[: len(line) - len(stripped)]
            lines.append(
                indent
                + random.choice(["# nhead = 24", "'nhead == 24'", "if False: nhead = 24", "pass"])
            )
        lines.append(line + ("  # or nhead == 24" if stripped and random.random() < 0.1 else ""))
        if random.random() < 0.05:
            lines.append("")
    return "\n".join(lines)
