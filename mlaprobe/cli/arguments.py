"""What a command line is before typer reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlaprobe.errors import UsageError

_FLAGS = ("--lse", "--persistent", "--causal", "--cp-round-robin")


def flags_as_values(args: Sequence[str]) -> list[str]:
    """Lets ``report``, ``table`` and ``history``, which take lists (``--lse 0,1``), be asked like
    the commands about one shape too (``--lse``, ``--no-persistent``)."""
    if not args or args[0] not in ("report", "table", "history"):
        return list(args)
    found: list[str] = []
    for at, word in enumerate(args):
        positive = "--" + word.removeprefix("--no-")
        if word in _FLAGS:
            following = args[at + 1] if at + 1 < len(args) else "-"
            found += [word, "1"] if following.startswith("-") else [word]
        elif word.startswith("--no-") and positive in _FLAGS:
            found += [positive, "0"]
        else:
            found.append(word)
    return found


def refuse_repeated(args: Sequence[str], command: Any) -> None:
    """Refuses an option that is given twice and of which only the last would count: a check
    would cover less than it seems to.

    Raises:
        UsageError: there is one.
    """
    parameters = getattr(command, "commands", {}).get(args[0]) if args else None
    for parameter in getattr(parameters, "params", ()):
        if parameter.multiple or getattr(parameter, "is_flag", False):
            continue
        names = parameter.opts
        given = [w for w in args[1:] if any(w == n or w.startswith(f"{n}=") for n in names)]
        if len(given) > 1 and names[0].startswith("-"):
            takes_list = parameter.metavar in ("LIST", "0,1")
            hint = f"write one list: {names[0]} A,B" if takes_list else "give it once"
            raise UsageError(f"{names[0]} is given {len(given)} times", hint=hint)
