"""Random C++ expressions over variables in scope."""

from __future__ import annotations

from collections.abc import Callable
from random import Random


class ExpressionWriter:
    """The part of a writer of programs that writes expressions."""

    def __init__(self, random: Random, *, mystery: bool = False) -> None:
        self.random = random
        self.mystery = mystery
        self.names = 0
        self.scopes: list[list[str]] = [["a", "b", "c"]]
        self.constant = {"c"} if mystery else set()
        self.records: list[str] = []

    # --- parts -----------------------------------------------------------------------------------

    def pick(self, *options: Callable[[int], str], depth: int) -> str:
        return self.random.choice(options)(depth)

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def visible(self, *, writable: bool = False) -> list[str]:
        names = [n for scope in self.scopes for n in scope]
        if writable:
            names = [n for n in names if n not in self.constant]
        return names

    def variable(self) -> str:
        if self.records and self.random.random() < 0.15:
            record = self.random.choice(self.records)
            return record + self.random.choice([".in.x", ".in.y", ".z"])
        return self.random.choice(self.visible())

    def literal(self) -> str:
        number = self.random.choice([0, 1, 2, 3, 4, 7, 8, 16, 17, 32])
        forms = [str(number), hex(number), f"({number})", f"-{number}" if number else "0"]
        return self.random.choice([*forms, f"({number + 3} - 3)", f"({number} << 1) / 2"])

    # --- expressions -----------------------------------------------------------------------------

    def number(self, depth: int) -> str:
        """A number between about -4000 and 4000."""
        if depth <= 0:
            return self.random.choice([self.variable, self.literal])()
        rules = (
            *(self._sum, self._sum, self._product, self._quotient, self._choice, self._bits),
            *(self._called, self._macro, self._extreme, self._cast, self._table, self._truth),
        )
        return self.pick(*rules, depth=depth - 1)

    def _sum(self, depth: int) -> str:
        op = self.random.choice("+-")
        return f"({self.number(depth)} {op} {self.number(depth)})"

    def _product(self, depth: int) -> str:
        return f"clip({self.number(depth)}) * {self.random.choice([2, 3, -1, 4])}"

    def _quotient(self, depth: int) -> str:
        op, by = self.random.choice("/%"), self.random.choice([2, 3, 4, 5, 16, -3])
        return f"({self.number(depth)} {op} {by})"

    def _bits(self, depth: int) -> str:
        op = self.random.choice("&|^")
        tail = self.random.choice([f"{op} {self.random.choice([1, 3, 7, 15])}", ">> 1", "& ~3"])
        return f"(clip({self.number(depth)}) {tail})"

    def _choice(self, depth: int) -> str:
        return f"({self.test(depth)} ? {self.number(depth)} : {self.number(depth)})"

    def _called(self, depth: int) -> str:
        inner = self.number(depth)
        return self.random.choice(
            [f"clip({inner})", f"guarded(clip({inner}))", f"clip(-({inner}))"]
        )

    def _macro(self, depth: int) -> str:
        one, other = self.number(depth), self.number(depth)
        return self.random.choice(
            [
                f"SCALED(3, {one}, clip({other}))",
                f"PICK({one}, {other}, {self.test(depth)})",
                f"TWICE(clip({one}))",
                f"SHIFTED({one})",
                f"PICK({one}, SHIFTED({other}), ALL({self.test(0)}, {self.test(0)}))",
            ]
        )

    def _extreme(self, depth: int) -> str:
        name = self.random.choice(["std::min", "std::max"])
        return f"{name}(0 + {self.number(depth)}, {self.number(depth)} + 0)"

    def _cast(self, depth: int) -> str:
        inner = self.number(depth)
        return self.random.choice(
            [
                f"static_cast<int>({inner})",
                f"(int)({inner})",
                f"static_cast<int>(static_cast<long>({inner}) + 1)",
                f"static_cast<int>(kind_of({inner}))",
                f"int({inner})",
            ]
        )

    def _table(self, depth: int) -> str:
        return f"kTable[(clip({self.number(depth)}) & 7)]"

    def _truth(self, depth: int) -> str:
        return f"({self.test(depth)} + 1)"

    def test(self, depth: int) -> str:
        """A condition without effects."""
        if depth <= 0:
            return self._compared(0)
        rules = (
            *(self._compared, self._compared, self._joined, self._joined, self._denied),
            *(self._kind, self._within, self._bare, self._chosen),
        )
        return self.pick(*rules, depth=depth - 1)

    def _compared(self, depth: int) -> str:
        op = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
        return f"({self.number(depth)} {op} {self.number(depth)})"

    def _joined(self, depth: int) -> str:
        op = self.random.choice(["&&", "||", "&&", "||", "and", "or", "!=", "=="])
        return f"({self.test(depth)} {op} {self.test(depth)})"

    def _denied(self, depth: int) -> str:
        return self.random.choice(["!", "not "]) + f"({self.test(depth)})"

    def _kind(self, depth: int) -> str:
        member = self.random.choice(["First", "Second", "Third"])
        return f"(kind_of({self.number(depth)}) == Kind::{member})"

    def _within(self, depth: int) -> str:
        last = self.random.choice(["", f", {self.literal()}"])
        return f"between({self.literal()}, {self.number(depth)}{last})"

    def _bare(self, depth: int) -> str:
        return f"({self.number(depth)})"

    def _chosen(self, depth: int) -> str:
        return f"({self.test(depth)} ? {self.test(depth)} : {self.test(depth)})"

    def acting(self, depth: int) -> str:
        """A condition that may change a variable, in the order that the language gives."""
        writable = self.visible(writable=True)
        if not writable or self.random.random() < 0.6:
            return self.test(depth)
        name = self.random.choice(writable)
        act = self.random.choice(
            [
                f"(bump({name}, {self.literal()}) > {self.literal()})",
                f"(({name} = clip({self.number(0)})) != 0)",
                f"({name}++ < 3)",
                f"(--{name} > {self.literal()})",
            ]
        )
        op = self.random.choice(["&&", "||"])
        parts = [self.test(depth), act, self.test(0)]
        return f" {op} ".join(parts[: self.random.choice([2, 3])])
