"""The classes of the commands: what typer leaves open about a command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from mlaprobe.errors import UsageError

LIST_OF_FLAGS = "0,1"
"""The metavar of an option that takes a list of 0 and 1."""
_LISTS = ("LIST", LIST_OF_FLAGS)


class Command(TyperCommand):
    """A command whose lists of flags may be given like flags, and whose options once only."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        prepare(self.params)

    def get_help_option(self, ctx: Any) -> Any:
        """The option that is in no list of parameters."""
        return _prepared(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the words after the command's name."""
        if not ctx.resilient_parsing:  # as completion parses: an unfinished line is no mistake
            args = flags_as_values(args, self.params)
            refuse_repeated(args, self.params)
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """All commands together. Typer adds options to it afterwards: they are to be prepared too."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option that is in no list of parameters."""
        return _prepared(super().get_help_option(ctx))


def prepare(parameters: Iterable[Any]) -> None:
    """Takes values that need no conversion as they are."""
    for parameter in parameters:
        # No option is read from the environment, though click 8.2 names a variable in its errors.
        parameter.show_envvar = False
        _take_as_it_is(parameter)


def _prepared(option: Any) -> Any:
    if option is not None:
        prepare([option])
    return option


def _take_as_it_is(parameter: Any) -> None:
    """Spares values of the right type typer's conversion: from 0.29 on that is pydantic's, whose
    import takes 0.2 of the 0.65 s of CPU that a small report takes then. An older typer, or one
    that keeps types elsewhere, is left as it is."""
    wanted = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if wanted is None or "process_value" in vars(parameter):
        return
    checked = parameter.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        ready = value is None or wanted == list[str] or isinstance(value, wanted)
        if not ready or (parameter.required and not value and value != ""):
            return checked(ctx, value)
        if parameter.multiple:
            value = () if value is None else list(value)
        return value if parameter.callback is None else parameter.callback(ctx, parameter, value)

    parameter.process_value = process_value
    if parameter.param_type_name == "argument":  # whose type it shows, though that has a name
        parameter.display_type_rich = lambda ctx: None


def flags_as_values(args: Sequence[str], parameters: Iterable[Any]) -> list[str]:
    """Lets options that take lists of 0 and 1 (``--lse 0,1``) be given as the commands about one
    shape take them (``--lse``, ``--no-persistent``)."""
    names = [name for each in parameters if each.metavar == LIST_OF_FLAGS for name in each.opts]
    found: list[str] = []
    for at, word in enumerate(args):
        positive = "--" + word.removeprefix("--no-")
        if word in names:
            following = args[at + 1] if at + 1 < len(args) else "-"
            found += [word, "1"] if following.startswith("-") else [word]
        elif word.startswith("--no-") and positive in names:
            found += [positive, "0"]
        else:
            found.append(word)
    return found


def refuse_repeated(args: Sequence[str], parameters: Iterable[Any]) -> None:
    """Refuses an option that is given twice and of which only the last would count: a check
    would cover less than it seems to.

    Raises:
        UsageError: there is one.
    """
    for parameter in parameters:
        if getattr(parameter, "multiple", False) or getattr(parameter, "is_flag", False):
            continue
        names = parameter.opts
        given = [w for w in args if any(w == n or w.startswith(f"{n}=") for n in names)]
        if len(given) > 1 and names[0].startswith("-"):
            takes_list = parameter.metavar in _LISTS
            hint = f"write one list: {names[0]} A,B" if takes_list else "give it once"
            raise UsageError(f"{names[0]} is given {len(given)} times", hint=hint)
