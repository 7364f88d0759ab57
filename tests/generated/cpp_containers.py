"""Statements about containers and about objects with narrow members, for random programs."""

from __future__ import annotations

from random import Random

_TYPES = ("int", "int", "int8_t", "uint8_t", "int16_t", "long", "double")
_SEQUENCES = ("std::vector", "std::vector", "std::array")
_KEYED = ("std::set", "std::unordered_set", "std::map", "std::unordered_map")


class ContainerWriter:
    """The part of a writer of programs that writes containers."""

    random: Random
    boxes: list[tuple[str, str]]
    """Names of containers in scope, and what they are."""
    smalls: list[str]
    """Names of objects in scope."""
    frozen: bool
    """Whether what is in scope must not be written."""
    scopes: list[list[str]]

    def fresh(self) -> str:
        raise NotImplementedError

    def number(self, depth: int) -> str:
        raise NotImplementedError

    def put(self, line: str, indent: int) -> None:
        raise NotImplementedError

    def box(self, indent: int, depth: int) -> None:
        """A new container, a copy of one, or another name for one."""
        name = "b" + self.fresh()
        if self.boxes and self.random.random() < 0.3:
            other, kind = self.random.choice(self.boxes)
            alias = self.random.random() < 0.5
            const = "const " if self.frozen and alias else ""
            self.put(f"{const}auto{'&' if alias else ''} {name} = {other};", indent)
            if not const:
                self.boxes.append((name, kind))
            return
        head = self.random.choice((*_SEQUENCES, *_KEYED))
        kind = self.random.choice(_TYPES)
        numbers = [
            f"static_cast<{kind}>({self.number(1)})" for _ in range(self.random.randint(1, 3))
        ]
        if head == "std::array":
            braces = self.random.choice(("{}", "{{}}"))
            inside = ", ".join(numbers)
            listed = "{" + inside + "}" if braces == "{}" else "{{" + inside + "}}"
            self.put(f"std::array<{kind}, 3> {name}{listed};", indent)
        elif head.endswith("map"):
            pairs = ", ".join(f"{{clip({self.number(1)}), {n}}}" for n in numbers)
            self.put(f"{head}<int, {kind}> {name}{{{pairs}}};", indent)
        else:
            kind = "int" if head.endswith("set") and kind == "double" else kind
            numbers = [n.replace("<double>", f"<{kind}>") for n in numbers]
            self.put(f"{head}<{kind}> {name} = {{{', '.join(numbers)}}};", indent)
        self.boxes.append((name, head))

    def use_of_box(self, indent: int, depth: int) -> None:
        """A container is changed or asked."""
        if not self.boxes:
            return self.box(indent, depth)
        name, kind = self.random.choice(self.boxes)
        if self.random.random() < 0.5 and not self.frozen:
            self.put(self.random.choice(self._changes(name, kind)), indent)
            return None
        result = self.fresh()
        self.put(f"int {result} = 0;", indent)
        self.put(self.random.choice(self._asks(name, kind, result)), indent)
        self.scopes[-1].append(result)
        return None

    def _changes(self, name: str, kind: str) -> list[str]:
        one, other = self.number(1), self.number(1)
        if kind == "std::vector":
            return [
                f"{name}.push_back({one});",
                f"{name}.emplace_back({one});",
                f"if({name}.size() > 1) {name}.pop_back();",
                f"if(!{name}.empty()) {name}[0] = {one};",
                f"for(auto& x : {name}) x += 1;",
                f"{name}.insert({name}.begin(), clip({one}));",
                f"{name}.resize(2);",
                f"if(!{name}.empty()) {name}.back() = clip({one});",
                f"std::sort({name}.begin(), {name}.end());",
            ]
        if kind == "std::array":
            return [
                f"{name}[({one}) & 1] = {other};",
                f"{name}.fill({one});",
                f"for(auto& x : {name}) x = x / 2;",
                f"{{ auto& r = {name}[1]; r = clip({one}); }}",
            ]
        if kind.endswith("set"):
            return [
                f"{name}.insert({one});",
                f"{name}.emplace(clip({one}));",
                f"{name}.erase({one});",
                f"for(int k = 0; k < 3; ++k) {name}.insert(k * 2);",
            ]
        return [
            f"{name}[clip({one})] = {other};",
            f"{name}[clip({one})] += 1;",
            f"{name}.insert({{clip({one}), 3}});",
            f"{name}.emplace(clip({one}), 4);",
            f"{name}.insert_or_assign(clip({one}), 5);",
            f"{name}.erase(clip({one}));",
            f"for(auto& [k, v] : {name}) v = 6;",
            f"{{ auto it = {name}.find(clip({one})); if(it != {name}.end()) it->second = 7; }}",
        ]

    def _asks(self, name: str, kind: str, result: str) -> list[str]:
        one, is_map = self.number(1), kind.endswith("map")
        every = "kv.second" if is_map else "kv"
        asks = [
            f"{result} = static_cast<int>({name}.size());",
            f"{result} = {name}.empty();",
            f"for(const auto& kv : {name}) {result} += static_cast<int>({every}) % 7;",
            f"{result} = std::any_of({name}.begin(), {name}.end(), "
            f"[&](const auto& kv) {{ return {every} > 3; }});",
            f"for(const auto& kv : {name}) {{ if({every} == {one}) {result} = 1; }}",
        ]
        if is_map or kind.endswith("set"):
            asks += [
                f"{result} = static_cast<int>({name}.count(clip({one})));",
                f"{result} = {name}.find({one}) == {name}.end();",
            ]
        if is_map:
            asks += [
                f"{{ auto it = {name}.find(clip({one})); "
                f"{result} = it == {name}.end() ? -1 : static_cast<int>(it->second) % 100; }}",
                f"{result} = static_cast<int>({name}.at(clip({one}))) % 100;",
            ]
        elif not kind.endswith("set"):
            asks += [
                f"if(!{name}.empty()) {result} = static_cast<int>({name}.front()) % 100;",
                f"{result} = static_cast<int>({name}.at(({one}) & 3)) % 100;",
                f"{result} = std::find({name}.begin(), {name}.end(), {one}) != {name}.end();",
                f"for(size_t k = 0; k < {name}.size(); ++k) {result} = {result} * 3 % 50 + 1;",
            ]
        return asks

    def small(self, indent: int, depth: int) -> None:
        """An object with narrow, unsigned and floating members."""
        if not self.smalls or self.random.random() < 0.4:
            name = "s" + self.fresh()
            numbers = [self.number(1) for _ in range(3)]
            self.put(
                f"Small {name}{{static_cast<int8_t>({numbers[0]}), "
                f"static_cast<uint8_t>({numbers[1]}), 5u, 0.5f, {{1, clip({numbers[2]})}}}};",
                indent,
            )
            self.smalls.append(name)
            return
        name, one, result = self.random.choice(self.smalls), self.number(1), self.fresh()
        if not self.frozen:
            self.put(
                self.random.choice(
                    [
                        f"{name}.a = {one};",
                        f"{name}.b = {one};",
                        f"{name}.b += 200;",
                        f"{name}.n = clip({one}) & 63;",
                        f"{name}.f = clip({one}) * 0.5f;",
                        f"top_of({name}, {one});",
                        f"{name}.v[0] = {one};",
                        f"{{ Small t = {name}; t.v.clear(); t.a = 1; }}",
                    ]
                ),
                indent,
            )
        part = self.random.choice(
            [
                f"{name}.a + {name}.b",
                f"static_cast<int>({name}.n % 7)",
                f"static_cast<int>({name}.f * 4)",
                f"{name}.v.back() % 100 + static_cast<int>({name}.v.size())",
            ]
        )
        self.put(f"int {result} = clip({part});", indent)
        self.scopes[-1].append(result)
