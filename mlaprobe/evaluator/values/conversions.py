"""What becomes of a value that is stored in a C++ variable of a type."""

from __future__ import annotations

from mlaprobe.evaluator.cpp.types import parse_type, template_of
from mlaprobe.evaluator.ir import CType, Span
from mlaprobe.evaluator.stl.containers import Container, copied
from mlaprobe.evaluator.stl.optionals import engaged, held
from mlaprobe.evaluator.stl.shapes import shape_of
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.arithmetic import NUMBERS, plain_number
from mlaprobe.evaluator.values.floats import single
from mlaprobe.evaluator.values.kinds import Model, Record
from mlaprobe.evaluator.values.truth import truth

_ASCII = 128


def convert(value: Value, ctype: CType, span: Span) -> Value:
    """A value stored in a C++ variable of a type."""
    if ctype.pointer or ctype.kind in ("auto", "string", "void"):
        return value
    if isinstance(value, Record) and value.derived and not ctype.ref:
        name = template_of(ctype.name)[0].rpartition("::")[2]
        if name != value.type:
            return Unknown(f"what of a {value.type} a {ctype.name} holds is not followed", span)
    if isinstance(value, (Record, Container)):
        return value if ctype.ref else copied(value)
    if isinstance(value, Unknown):
        shape = shape_of(ctype) if ctype.kind == "other" else None
        if shape is None:
            return value.stored(ctype)
        return Container(ctype, shape, None, None, value)
    if ctype.kind == "other":
        return _convert_parts(value, ctype, span) if ctype.name.startswith(_PARTS) else value
    if type(value) is Sym:
        return _convert_symbol(value, ctype, span)
    if isinstance(value, tuple):
        return tuple(convert(element, ctype, span) for element in value)
    if isinstance(value, list):
        value[:] = [convert(element, ctype, span) for element in value]
        return value
    if ctype.kind == "bool":
        if isinstance(value, Model):
            return value.exists()
        return value != "\0" if type(value) is str else truth(value)
    if type(value) is str:
        number = len(value) == 1 and ord(value) < _ASCII and ctype.name != "char"
        return ord(value) if number else value
    value = plain_number(value)
    if type(value) is str and len(value) == 1 and ctype.name != "char":
        value = ord(value) if ord(value) < 128 else Unknown("a character", span)
    if ctype.kind == "float":
        if not isinstance(value, NUMBERS):
            return value
        return single(value) if ctype.name == "float" else float(value)
    if isinstance(value, float):
        if not abs(value) < 2**63:
            return Unknown("a float out of range of an integer", span)
        value = int(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return _fit(value, ctype, span)
    return value


def low_bits(value: Value, ctype: CType) -> Value:
    """The number that the last bits of another stand for."""
    if type(value) is Sym and type(value.value) is int:
        half = 1 << (ctype.bits - 1)
        value = value if value.fits(-half, half - 1) else value.concretize()
    if type(value) is not int:
        return value
    value &= (1 << ctype.bits) - 1
    return value - (1 << ctype.bits) if value >> (ctype.bits - 1) else value


_PARTS = ("std::optional<", "std::pair<", "std::tuple<")


def _convert_parts(value: Value, ctype: CType, span: Span) -> Value:
    """A value of a class template: ``std::pair<bool, int> p = std::make_pair(2, 3)`` converts
    both."""
    kinds = _arguments(ctype.name)
    if any(kind.ref for kind in kinds):
        return Unknown(f"what a {ctype.name} refers to is not followed", span)
    if ctype.name.startswith(_PARTS[0]):
        return value if value is None else engaged(convert(held(value), kinds[0], span))
    if not isinstance(value, tuple):
        return value
    if len(value) != len(kinds):
        return Unknown(f"how a {ctype.name} is made is not followed", span)
    return tuple(convert(v, kind, span) for v, kind in zip(value, kinds, strict=True))


def _arguments(name: str) -> tuple[CType, ...]:
    return tuple(parse_type(argument) for argument in template_of(name)[1])


def _convert_symbol(value: Sym, ctype: CType, span: Span) -> Value:
    if ctype.kind == "bool":
        return truth(value)
    if ctype.kind == "float":
        whole = type(value.value) is int
        if ctype.name == "float":
            return convert(value.concretize(), ctype, span)
        return value.combine("*", value, 1.0, float(value.value)) if whole else value
    if type(value.value) is not int:
        return convert(value.concretize(), ctype, span)
    bits = ctype.bits
    low, high = (0, (1 << bits) - 1)
    if ctype.kind != "unsigned":
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return value if value.fits(low, high) else convert(value.concretize(), ctype, span)


def _fit(value: int, ctype: CType, span: Span) -> Value:
    bits = ctype.bits
    if ctype.kind == "unsigned":
        inside = 0 <= value < 1 << bits
    else:
        inside = -(1 << (bits - 1)) <= value < 1 << (bits - 1)
    if inside:
        return value
    if ctype.kind == "unsigned" or (bits < 32 and -(2**63) <= value < 2**64):
        value &= (1 << bits) - 1  # modulo, as the language has it
        return value - (1 << bits) if ctype.kind != "unsigned" and value >> (bits - 1) else value
    return Unknown(f"{value} does not fit in {ctype.name}", span)
