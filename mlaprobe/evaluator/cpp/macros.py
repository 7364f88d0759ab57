"""Macro definitions and their expansion."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property

from mlaprobe.core.caches import Cache
from mlaprobe.core.keeping import Memo
from mlaprobe.evaluator.cpp.tokens import Token

MAX_TOKENS = 400_000
MOST_KEPT = 100_000
"""Entries of each of an expander's tables."""


class ExpansionError(Exception):
    """An expansion that does not fit its macro, or grows without end."""


_OPERATORS = frozenset(("#", "##", "__VA_OPT__"))


@dataclass(frozen=True)
class Macro:
    """A macro definition."""

    name: str
    params: tuple[str, ...] | None
    """``None`` for an object-like macro."""
    variadic: str | None
    """The name that stands for the remaining arguments."""
    body: tuple[Token, ...]

    @cached_property
    def hides(self) -> frozenset[str]:
        """What may not be expanded any more in what it expands to."""
        return frozenset((self.name,))

    @cached_property
    def hidden_body(self) -> list[Token]:
        """The body as it is expanded to where nothing is hidden yet."""
        return [_hide(token, self.hides) for token in self.body]

    @cached_property
    def pieces(self) -> tuple[str | list[Token], ...] | None:
        """What the body is put together from: parameters, and the tokens between them. ``None``
        where it has operators, which look at their neighbours."""
        if any(token.text in _OPERATORS for token in self.body):
            return None
        params = {*(self.params or ()), self.variadic}
        found: list[str | list[Token]] = []
        for token in self.hidden_body:
            if token.kind == "name" and token.text in params:
                found.append(token.text)
            elif found and isinstance(found[-1], list):
                found[-1].append(token)
            else:
                found.append([token])
        return tuple(found)


Lookup = Callable[[str], "Macro | None"]


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
    """Expands a token list.

    A router is made of a macro that is used hundreds of times with the same long arguments. So the
    tokens of a body and of an argument are made once and shared by all places where they come to
    stand, and what is no macro's name costs no look-up. ``memo.StatementMemo``, where the gain is
    stated, recognises statements by the identity of their tokens.
    """

    def __init__(self, lookup: Lookup, known: Container[str], budget: int = MAX_TOKENS) -> None:
        """``known`` has every name that may be a macro's; ``lookup`` gives the macro."""
        self._lookup = lookup
        self._known = known
        self.budget = budget
        """How many tokens more macros may expand to."""
        self._objects: Memo[list[Token]] = Memo(Cache.TOKENS, MOST_KEPT)
        self._calls: Memo[tuple[list[list[Token]], list[Token]]] = Memo(Cache.TOKENS, MOST_KEPT)
        """The arguments of macro calls, and what they expand to, by the macro and the identities of
        the arguments' tokens, which they keep alive."""
        self._arguments: Memo[tuple[list[Token], list[Token]]] = Memo(Cache.TOKENS, MOST_KEPT)
        """Arguments and what they expand to, by the identities of their tokens."""
        self._placed: Memo[tuple[list[Token], list[Token]]] = Memo(Cache.TOKENS, MOST_KEPT)
        """Expanded arguments, and what they are in the bodies of macros."""
        self._commas: Memo[Token] = Memo(Cache.TOKENS, MOST_KEPT)
        """What joins variable arguments, by the token behind."""

    def expand(self, tokens: list[Token]) -> list[Token]:
        """All macros expanded.

        Raises:
            ExpansionError: too many tokens, or arguments that do not end.
        """
        known = self._known
        out: list[Token] = []
        todo = tokens[::-1]
        while todo:
            token = todo.pop()
            if token.text not in known or token.kind != "name" or token.text in token.hidden:
                out.append(token)
                continue
            macro = self._lookup(token.text)
            if macro is None:
                out.append(token)
                continue
            if macro.params is None:
                todo.extend(reversed(self._object(macro, token)))
                continue
            if not todo or todo[-1].text != "(":
                out.append(token)
                continue
            todo.extend(reversed(self._function(macro, _arguments(todo, token))))
        return out

    def _object(self, macro: Macro, at: Token) -> list[Token]:
        key = (id(macro), at.hidden)
        body = (_hide(token, at.hidden) for token in macro.hidden_body)
        return self._spend(self._objects.of(key, lambda: _paste(list(body))))

    def _function(self, macro: Macro, args: list[list[Token]]) -> list[Token]:
        key = (id(macro), *(tuple(map(id, arg)) for arg in args))
        known = self._calls.of(key, lambda: (args, self._called(macro, args)))
        return self._spend(known[1])

    def _called(self, macro: Macro, args: list[list[Token]]) -> list[Token]:
        bound = _bind(macro, args, self._commas)
        expanded = {name: self._argument(tokens) for name, tokens in bound.items()}
        pieces = macro.pieces
        if pieces is None or any(t.text == "##" for arg in bound.values() for t in arg):
            body = self._substitute(macro, list(macro.body), bound, expanded)
            return _paste([_hide(token, macro.hides) for token in body])
        result: list[Token] = []
        for piece in pieces:
            if isinstance(piece, str):
                result += self._in_body(expanded[piece], macro)
            else:
                result += piece
        return result

    def _argument(self, tokens: list[Token]) -> list[Token]:
        """An argument, expanded."""
        key = tuple(map(id, tokens))
        return self._arguments.of(key, lambda: (tokens, self.expand(tokens)))[1]

    def _in_body(self, tokens: list[Token], macro: Macro) -> list[Token]:
        """An expanded argument as it stands in a macro's body."""
        key = (id(tokens), macro.name)
        known = self._placed.answers.get(key)
        if known is None:
            placed = [_hide(token, macro.hides) for token in tokens]
            placed[:1] = [token._replace(spaced=True) for token in placed[:1]]
            known = self._placed.put(key, (tokens, placed))
        return known[1]

    def _spend(self, tokens: list[Token]) -> list[Token]:
        self.budget -= len(tokens) + 1
        if self.budget < 0:
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
    if token.kind != "name" or hidden <= token.hidden:
        return token
    hidden = token.hidden | hidden
    return Token("name", token.text, token.file, token.offset, hidden, token.spaced)


def _bind(macro: Macro, args: list[list[Token]], commas: Memo[Token]) -> dict[str, list[Token]]:
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
                new = Token("op", ",", where.file, where.offset)
                joined.append(commas.of(where, lambda new=new: new))  # type: ignore[misc]
            joined.extend(arg)
        bound[macro.variadic] = joined
    elif rest:
        raise ExpansionError(f"{macro.name} takes {len(params)} arguments, got {len(args)}")
    return bound


def _arguments(todo: list[Token], at: Token) -> list[list[Token]]:
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
                return args
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
