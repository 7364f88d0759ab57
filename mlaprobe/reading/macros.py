"""Macro definitions and their expansion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlaprobe.reading.cpptokens import Token

MAX_TOKENS = 400_000


class ExpansionError(Exception):
    """An expansion that does not fit its macro, or grows without end."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro definition."""

    name: str
    params: tuple[str, ...] | None
    """``None`` for an object-like macro."""
    variadic: str | None
    """The name that stands for the remaining arguments."""
    body: tuple[Token, ...]


Lookup = Callable[[str, Token], "Macro | None"]


def parse_define(tokens: list[Token]) -> Macro | None:
    """A macro from the tokens after ``#define``, or ``None`` where they make none."""
    if not tokens or tokens[0].kind != "name":
        return None
    name = tokens[0].text
    if len(tokens) < 2 or tokens[1].text != "(" or tokens[1].spaced:
        return Macro(name, None, None, tuple(tokens[1:]))
    params: list[str] = []
    variadic: str | None = None
    at = 2
    while at < len(tokens) and tokens[at].text != ")":
        token = tokens[at]
        if token.kind == "name":
            params.append(token.text)
        elif token.text == "...":
            previous = tokens[at - 1]
            variadic = params.pop() if previous.kind == "name" else "__VA_ARGS__"
        elif token.text != ",":
            return None
        at += 1
    if at >= len(tokens):
        return None
    return Macro(name, tuple(params), variadic, tuple(tokens[at + 1 :]))


class Expander:
    """Expands a token list; ``lookup`` says what a name means where a token stands."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._budget = MAX_TOKENS

    def expand(self, tokens: list[Token]) -> list[Token]:
        """All macros expanded.

        Raises:
            ExpansionError: too many tokens, or arguments that do not end.
        """
        out: list[Token] = []
        todo = tokens[::-1]
        while todo:
            token = todo.pop()
            if token.kind != "name" or token.text in token.hidden:
                out.append(token)
                continue
            macro = self._lookup(token.text, token)
            if macro is None:
                out.append(token)
                continue
            if macro.params is None:
                todo.extend(reversed(self._object(macro, token)))
                continue
            if not todo or todo[-1].text != "(":
                out.append(token)
                continue
            args, end = _arguments(todo, token)
            todo.extend(reversed(self._function(macro, token, args, end)))
        return out

    def _object(self, macro: Macro, at: Token) -> list[Token]:
        hidden = at.hidden | {macro.name}
        return self._spend(_paste([_hide(t, hidden) for t in macro.body]))

    def _function(
        self, macro: Macro, at: Token, args: list[list[Token]], end: Token
    ) -> list[Token]:
        bound = _bind(macro, args)
        expanded = {name: self.expand(tokens) for name, tokens in bound.items()}
        hidden = (at.hidden & end.hidden) | {macro.name}
        body = self._substitute(macro, list(macro.body), bound, expanded)
        return self._spend(_paste([_hide(t, hidden) for t in body]))

    def _spend(self, tokens: list[Token]) -> list[Token]:
        self._budget -= len(tokens) + 1
        if self._budget < 0:
            raise ExpansionError("macros expand to too many tokens")
        return tokens

    def _substitute(
        self,
        macro: Macro,
        body: list[Token],
        bound: dict[str, list[Token]],
        expanded: dict[str, list[Token]],
    ) -> list[Token]:
        out: list[Token] = []
        at = 0
        while at < len(body):
            token = body[at]
            following = body[at + 1] if at + 1 < len(body) else None
            if token.text == "#" and following is not None and following.text in bound:
                out.append(_stringify(bound[following.text], token))
                at += 2
                continue
            if token.text == "__VA_OPT__" and following is not None and following.text == "(":
                inner, at = _balanced(body, at + 1)
                if macro.variadic is not None and expanded.get(macro.variadic):
                    out.extend(self._substitute(macro, inner, bound, expanded))
                continue
            if token.kind == "name" and token.text in bound:
                pasted = (out and out[-1].text == "##") or (
                    following is not None and following.text == "##"
                )
                out.extend(_argument(out, token, bound, expanded, bool(pasted), macro))
            else:
                out.append(token)
            at += 1
        return out


def _argument(
    out: list[Token],
    token: Token,
    bound: dict[str, list[Token]],
    expanded: dict[str, list[Token]],
    pasted: bool,
    macro: Macro,
) -> list[Token]:
    tokens = (bound if pasted else expanded)[token.text]
    if pasted and token.text == macro.variadic and len(out) >= 2 and out[-1].text == "##":
        # GNU: ", ## __VA_ARGS__" drops the comma of an empty argument list and else pastes nothing
        out.pop()
        if not tokens and out[-1].text == ",":
            out.pop()
        return expanded[token.text]
    if not tokens and pasted:
        return [token._replace(kind="placemarker", text="")]
    return [t._replace(spaced=True) if i == 0 else t for i, t in enumerate(tokens)]


def _hide(token: Token, hidden: frozenset[str]) -> Token:
    if token.kind != "name":
        return token
    return token._replace(hidden=token.hidden | hidden)


def _bind(macro: Macro, args: list[list[Token]]) -> dict[str, list[Token]]:
    params = macro.params or ()
    if not params and macro.variadic is None:
        if len(args) > 1 or args[0]:
            raise ExpansionError(f"{macro.name} takes no arguments")
        return {}
    if len(args) < len(params):
        raise ExpansionError(f"{macro.name} takes {len(params)} arguments, got {len(args)}")
    bound = dict(zip(params, args, strict=False))
    rest = args[len(params) :]
    if macro.variadic is not None:
        joined: list[Token] = []
        for i, arg in enumerate(rest):
            if i:
                comma = arg[0] if arg else rest[i - 1][-1] if rest[i - 1] else None
                where = comma if comma is not None else Token("op", ",", "", 0)
                joined.append(Token("op", ",", where.file, where.offset))
            joined.extend(arg)
        bound[macro.variadic] = joined
    elif rest:
        raise ExpansionError(f"{macro.name} takes {len(params)} arguments, got {len(args)}")
    return bound


def _arguments(todo: list[Token], at: Token) -> tuple[list[list[Token]], Token]:
    """The arguments of a call whose ``(`` is on top of the stack."""
    todo.pop()
    args: list[list[Token]] = [[]]
    depth = 0
    while todo:
        token = todo.pop()
        text = token.text
        if token.kind == "op":
            if text in "([{":
                depth += 1
            elif text == ")" and depth == 0:
                return args, token
            elif text in ")]}":
                depth -= 1
            elif text == "," and depth == 0:
                args.append([])
                continue
        args[-1].append(token)
    raise ExpansionError(f"the arguments of {at.text} do not end")


def _balanced(body: list[Token], at: int) -> tuple[list[Token], int]:
    """The tokens inside the parentheses that start at ``at``, and the place behind them."""
    depth = 0
    for end in range(at, len(body)):
        if body[end].text == "(":
            depth += 1
        elif body[end].text == ")":
            depth -= 1
            if depth == 0:
                return body[at + 1 : end], end + 1
    raise ExpansionError("parentheses in a macro do not end")


def _stringify(tokens: list[Token], at: Token) -> Token:
    text = "".join((" " if t.spaced and i else "") + t.text for i, t in enumerate(tokens))
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return Token("text", f'"{escaped}"', at.file, at.offset, spaced=True)


def _paste(tokens: list[Token]) -> list[Token]:
    """``##`` joins its neighbours to one token."""
    if not any(t.text == "##" or t.kind == "placemarker" for t in tokens):
        return tokens
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.text == "##" and out and at + 1 < len(tokens):
            left, right = out.pop(), tokens[at + 1]
            text = left.text + right.text
            kind = left.kind if left.kind != "placemarker" else right.kind
            out.append(left._replace(kind=kind, text=text, hidden=left.hidden & right.hidden))
            at += 2
            continue
        out.append(token)
        at += 1
    return [t for t in out if t.kind != "placemarker"]
