"""Rules about a decode shape: what they mean, and many ways to write them down.

A rule is a tree of clauses; ``holds`` is its meaning, computed without any of mlaprobe. The writers
``Cpp`` and ``Python`` put the same rule into source text, choosing among the forms that AITER's
code uses: nested conditions, helper functions, lambdas, early returns, switches, loops over a
table, macros with their arguments in any order, preprocessor conditions, sets, dictionaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

KNOB = "MLA_WIDE"
TILES = (8, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class Shape:
    """What a rule can ask for."""

    arch: str
    q_fp8: bool
    kv_fp8: bool
    heads: int
    qlen: int
    knob: bool


@dataclass(frozen=True)
class Rule:
    """A clause, or several joined by ``op``."""

    op: str
    """``arch``, ``q``, ``kv``, ``heads``, ``multiple``, ``below``, ``qlen``, ``product``, ``knob``,
    ``and``, ``or``, ``not``, ``open`` (nobody can tell)."""
    values: tuple[int, ...] = ()
    parts: tuple[Rule, ...] = ()
    name: str = ""

    def holds(self, shape: Shape, unknown: bool = False) -> bool:
        """Whether the rule holds; an open clause is taken as ``unknown`` says."""
        if self.op in ("and", "or"):
            found = [p.holds(shape, unknown) for p in self.parts]
            return all(found) if self.op == "and" else any(found)
        if self.op == "not":
            return not self.parts[0].holds(shape, unknown)
        if self.op == "open":
            return unknown
        first = self.values[0] if self.values else 0
        return {
            "arch": shape.arch == self.name,
            "q": shape.q_fp8,
            "kv": shape.kv_fp8,
            "heads": shape.heads in self.values,
            "multiple": bool(first) and shape.heads % max(first, 1) == 0,
            "below": shape.heads < first,
            "qlen": shape.qlen <= first,
            "product": shape.heads * shape.qlen == first,
            "knob": shape.knob,
        }[self.op]


def random_rule(random: Random, depth: int = 3) -> Rule:
    """A rule of moderate size."""
    if depth and random.random() < 0.75:
        op = random.choice(["and", "or", "and", "or", "not"])
        count = 1 if op == "not" else random.randint(2, 3)
        return Rule(op, parts=tuple(random_rule(random, depth - 1) for _ in range(count)))
    listed = "arch q kv heads heads heads multiple below qlen qlen product knob"
    op = random.choice(listed.split())
    if op == "arch":
        return Rule(op, name=random.choice(["gfx942", "gfx950"]))
    choices = {
        "heads": tuple(sorted(random.sample(TILES, random.randint(1, 4)))),
        "multiple": (random.choice([8, 16, 32, 48]),),
        "below": (random.choice([16, 33, 64, 100]),),
        "qlen": (random.choice([1, 2, 3, 4]),),
        "product": (random.choice([32, 64, 128]),),
    }
    return Rule(op, values=choices.get(op, ()))


def opened(rule: Rule, random: Random) -> Rule:
    """The rule with one of its clauses replaced by something that nobody can tell."""
    if not rule.parts or random.random() < 0.25:
        return Rule("open")
    at = random.randrange(len(rule.parts))
    parts = tuple(opened(p, random) if i == at else p for i, p in enumerate(rule.parts))
    return Rule(rule.op, rule.values, parts, rule.name)


class Writer:
    """What both languages share: names, and the choice of forms."""

    AND = "&&"
    OR = "||"

    def __init__(self, random: Random) -> None:
        self.random = random
        self.before: list[str] = []
        """Text for the top level of the file."""
        self.local: list[str] = []
        """Statements before the rule's use."""
        self.count = 0

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def number(self, value: int) -> str:
        """A number, sometimes by arithmetic."""
        forms = [str(value)] * 4 + [hex(value), f"({value + 5} - 5)", f"{2 * value} / 2"]
        return self.random.choice(forms)

    def shuffled(self, parts: tuple[Rule, ...]) -> list[Rule]:
        """Clause order does not matter."""
        found = list(parts)
        self.random.shuffle(found)
        return found


class Cpp(Writer):
    """A rule as C++ over ``arch_id``, ``q_is_fp8``, ``kv_is_fp8``, ``num_heads``,
    ``max_seqlen_qo``."""

    PARAMS = (
        "const std::string& arch_id, bool q_is_fp8, bool kv_is_fp8, int num_heads, "
        "int max_seqlen_qo"
    )
    ARGS = "arch_id, q_is_fp8, kv_is_fp8, num_heads, max_seqlen_qo"

    def expression(self, rule: Rule, *, inside: bool = False) -> str:
        """The rule as an expression; ``inside`` a helper nothing local can be declared."""
        if rule.op in ("and", "or", "not") and self.random.random() < 0.3:
            forms = [self._helper, self._macro]
            if not inside:
                forms += [self._lambda, self._variable, self._flag]
            return self.random.choice(forms)(rule)
        return self._plain(rule, inside)

    def _plain(self, rule: Rule, inside: bool) -> str:
        if rule.op in ("and", "or"):
            parts = [self.expression(p, inside=inside) for p in self.shuffled(rule.parts)]
            if self.random.random() < 0.2:  # De Morgan
                other = self.OR if rule.op == "and" else self.AND
                return f"!({f' {other} '.join(f'!({p})' for p in parts)})"
            word = self.AND if rule.op == "and" else self.OR
            return "(" + f" {word} ".join(f"({p})" for p in parts) + ")"
        if rule.op == "not":
            inner = self.expression(rule.parts[0], inside=inside)
            return self.random.choice([f"!({inner})", f"(({inner}) == false)", f"(({inner}) ^ 1)"])
        return self._clause(rule)

    def _clause(self, rule: Rule) -> str:
        first = self.number(rule.values[0]) if rule.values else ""
        choose = self.random.choice
        if rule.op == "arch":
            return choose([f'arch_id == "{rule.name}"', f'"{rule.name}" == arch_id'])
        if rule.op == "heads":
            return self._listed(rule)
        return {
            "q": choose(["q_is_fp8", "q_is_fp8 == true", "!!q_is_fp8"]),
            "kv": choose(["kv_is_fp8", "(kv_is_fp8 ? true : false)"]),
            "multiple": choose([f"num_heads % ({first}) == 0", f"!(num_heads % ({first}))"]),
            "below": choose([f"num_heads < {first}", f"!(num_heads >= {first})"]),
            "qlen": choose([f"max_seqlen_qo <= {first}", f"max_seqlen_qo < {first} + 1"]),
            "product": f"num_heads * max_seqlen_qo == {first}",
            "knob": f'(std::getenv("{KNOB}") != nullptr && std::atoi(std::getenv("{KNOB}")) != 0)',
            "open": choose(["probe_registers(num_heads)", "at::probe(num_heads)"]),
        }[rule.op]

    def _listed(self, rule: Rule) -> str:
        form = self.random.choice(["or", "or", "switch", "loop", "early", "preprocessor"])
        if form == "or":
            return " || ".join(f"(num_heads == {self.number(v)})" for v in rule.values)
        name = self.fresh("listed")
        if form == "switch":
            labels = "".join(f"    case {v}:\n" for v in rule.values)
            body = f"    switch(num_heads)\n    {{\n{labels}        return true;\n"
            body += "    default: break;\n    }\n    return false;"
        elif form == "loop":
            body = f"    static constexpr int kTiles[] = {{{', '.join(map(str, rule.values))}}};\n"
            body += "    bool found = false;\n    for(const int tile : kTiles)\n    {\n"
            body += "        if(tile == num_heads)\n            found = true;\n    }\n"
            body += "    return found;"
        elif form == "early":
            body = "\n".join(f"    if(num_heads == {v}) return true;" for v in rule.values)
            body += "\n    return false;"
        else:
            chosen = " || ".join(f"(num_heads == {v})" for v in rule.values)
            flag = self.fresh("KEEPS_")
            self.before.append(f"#define {flag} {self.random.choice([1, 2])}")
            body = f"#if {flag} > 0 && !defined(NOT_{flag})\n    return {chosen};\n"
            body += "#else\n    return true;\n#endif"
        self.before.append(f"static inline bool {name}(int num_heads)\n{{\n{body}\n}}")
        return f"{name}(num_heads)"

    def _helper(self, rule: Rule) -> str:
        name = self.fresh("rule")
        if rule.op in ("and", "or") and self.random.random() < 0.6:
            stop = "true" if rule.op == "or" else "false"
            tests = [self.expression(p, inside=True) for p in self.shuffled(rule.parts)]
            sign = "" if rule.op == "or" else "!"
            lines = [f"    if({sign}({t}))\n        return {stop};" for t in tests]
            lines.append(f"    return {'false' if rule.op == 'or' else 'true'};")
            body = "\n".join(lines)
        else:
            body = f"    const bool is = {self._plain(rule, True)};\n    return is;"
        self.before.append(f"static bool {name}({self.PARAMS})\n{{\n{body}\n}}")
        return f"{name}({self.ARGS})"

    def _macro(self, rule: Rule) -> str:
        name = self.fresh("RULE_")
        order = ["one", "other"]
        self.random.shuffle(order)
        word = self.AND if rule.op == "and" else self.OR
        if rule.op == "not":
            self.before.append(f"#define {name}(unused, one, ...) (!(one))")
            return f"{name}(0, {self._shielded(rule.parts[0])})"
        head, *tail = self.shuffled(rule.parts)
        rest = Rule(rule.op, parts=tuple(tail)) if len(tail) > 1 else tail[0]
        self.before.append(f"#define {name}({order[0]}, {order[1]}) ((one) {word} (other))")
        given = {"one": self._shielded(head), "other": self._shielded(rest)}
        return f"{name}({given[order[0]]}, {given[order[1]]})"

    def _shielded(self, rule: Rule) -> str:
        return f"({self._plain(rule, True)})"

    def _lambda(self, rule: Rule) -> str:
        name, param = self.fresh("asks"), self.fresh("heads")
        body = self._plain(rule, True)
        head = f"auto {name} = [&](const int {param}) "
        self.local.append(
            f"{head}{{ const int num_heads = {param};\n        (void)num_heads;\n"
            f"        return {body}; }};"
        )
        return f"{name}(num_heads)"

    def _variable(self, rule: Rule) -> str:
        name = self.fresh("known")
        self.local.append(f"const bool {name} = {self._plain(rule, False)};")
        return name

    def _flag(self, rule: Rule) -> str:
        """A flag that statements set."""
        name = self.fresh("flag")
        test = self._plain(rule, False)
        self.local.append(
            f"bool {name} = false;\n    if({test})\n    {{\n        {name} = true;\n    }}"
        )
        return name


class Python(Writer):
    """A rule as Python over ``nhead``, ``max_seqlen_q``, ``q``, ``kv_buffer``."""

    AND, OR = "and", "or"
    PARAMS = "nhead, max_seqlen_q, q, kv_buffer"

    def expression(self, rule: Rule, *, inside: bool = False) -> str:
        """The rule as an expression; ``inside`` a helper nothing local can be used."""
        if rule.op in ("and", "or", "not") and self.random.random() < 0.3:
            forms = [self._helper]
            if not inside:
                forms += [self._variable, self._quantified, self._lambda]
            return self.random.choice(forms)(rule)
        return self._plain(rule, inside)

    def _plain(self, rule: Rule, inside: bool) -> str:
        if rule.op in ("and", "or"):
            parts = [self.expression(p, inside=inside) for p in self.shuffled(rule.parts)]
            if self.random.random() < 0.2:
                other = self.OR if rule.op == "and" else self.AND
                return f"not ({f' {other} '.join(f'not ({p})' for p in parts)})"
            word = self.AND if rule.op == "and" else self.OR
            return "(" + f" {word} ".join(f"({p})" for p in parts) + ")"
        if rule.op == "not":
            return f"(not ({self.expression(rule.parts[0], inside=inside)}))"
        return self._clause(rule)

    def number(self, value: int) -> str:
        forms = [str(value)] * 4 + [hex(value), f"({value + 5} - 5)", f"{2 * value} // 2"]
        return self.random.choice(forms)

    def _clause(self, rule: Rule) -> str:
        first = self.number(rule.values[0]) if rule.values else ""
        choose = self.random.choice
        if rule.op == "heads":
            return self._listed(rule)
        return {
            "arch": choose([f'get_gfx() == "{rule.name}"', f'get_gfx() in ("{rule.name}",)']),
            "q": choose(["q.dtype == dtypes.fp8", "not (q.dtype != dtypes.fp8)"]),
            "kv": choose(["kv_buffer.dtype == dtypes.fp8", "kv_buffer.dtype in (dtypes.fp8,)"]),
            "multiple": choose([f"nhead % ({first}) == 0", f"not nhead % ({first})"]),
            "below": choose([f"nhead < {first}", f"0 < nhead < {first}"]),
            "qlen": choose([f"max_seqlen_q <= {first}", f"max_seqlen_q in range(1, {first} + 1)"]),
            "product": f"nhead * max_seqlen_q == {first}",
            "knob": f'int(os.environ.get("{KNOB}", "0")) != 0',
            "open": "torch.ops.mla.listed(nhead)",
        }[rule.op]

    def _listed(self, rule: Rule) -> str:
        values = ", ".join(map(str, rule.values))
        form = self.random.choice(["or", "set", "tuple", "dict", "global", "loop", "match"])
        if form == "or":
            return " or ".join(f"(nhead == {self.number(v)})" for v in rule.values)
        if form == "set":
            return f"nhead in {{{values}}}"
        if form == "tuple":
            return f"not (nhead not in ({values},))"
        if form == "dict":
            pairs = ", ".join(f"{v}: {v % 7 + 1}" for v in rule.values)
            return f"{{{pairs}}}.get(nhead, 0) > 0"
        name = self.fresh("_TILES")
        if form == "global":
            self.before.append(f"{name} = frozenset([{values}])")
            return f"nhead in {name}"
        function = self.fresh("_listed")
        if form == "loop":
            self.before.append(
                f"def {function}(heads):\n    for tile in ({values},):\n        if tile == heads:\n"
                "            return True\n    else:\n        return False"
            )
        else:
            cases = " | ".join(map(str, rule.values))
            self.before.append(
                f"def {function}(heads):\n    match heads:\n        case {cases}:\n"
                "            return True\n        case _:\n            return False"
            )
        return f"{function}(nhead)"

    def _helper(self, rule: Rule) -> str:
        name = self.fresh("_rule")
        if rule.op in ("and", "or"):
            stop = rule.op == "or"
            tests = [self._plain(p, True) for p in self.shuffled(rule.parts)]
            sign = "" if stop else "not "
            lines = [f"    if {sign}({t}):\n        return {stop}" for t in tests]
            body = "\n".join([*lines, f"    return {not stop}"])
        else:
            body = f"    return {self._plain(rule, True)}"
        self.before.append(f"def {name}({self.PARAMS}):\n{body}")
        return f"{name}({self.PARAMS})"

    def _variable(self, rule: Rule) -> str:
        name = self.fresh("known")
        self.local.append(f"{name} = {self._plain(rule, False)}")
        return name

    def _lambda(self, rule: Rule) -> str:
        name = self.fresh("asks")
        self.local.append(f"{name} = lambda nhead: {self._plain(rule, False)}")
        return f"{name}(nhead)"

    def _quantified(self, rule: Rule) -> str:
        if rule.op == "not":
            return self._plain(rule, False)
        word = "all" if rule.op == "and" else "any"
        return f"{word}([{', '.join(self._plain(p, False) for p in self.shuffled(rule.parts))}])"
