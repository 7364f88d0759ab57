"""Damage for texts: what editors, merges, downloads and attackers do to files."""

from __future__ import annotations

from random import Random

_WORDS = (
    *(b"(", b")", b"{", b"}", b"[", b"]", b"<", b">", b"<<<", b">>>", b'"', b"'", b"/*", b"*/"),
    *(b"//", b"#", b"#if 0\n", b"#endif\n", b"#define f(x) f(f(x))\n", b"\\\n", b"\n", b"\r\n"),
    *(b";", b",", b":", b"::", b"&", b"*", b"&&", b"||", b"!", b"~", b"%", b"/", b"<<", b"**"),
    *(b"0", b"-1", b"2147483648", b"9999999999999999999999", b"1e999", b"0x", b"nan"),
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xe2\x80\xae", b"\t", b"   "),
    *(b"lambda: ", b"yield ", b"await ", b"while True:\n", b"for(;;)", b"goto x;", b"return "),
    *(b"- ", b"? ", b"&a ", b"*a ", b"!!python/object ", b"<<: ", b"{a: 1, a: 2}", b"..."),
)


def mutated(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    """The data with one to four kinds of damage."""
    for _ in range(random.choice([1, 1, 1, 2, 2, 3, 4])):
        data = random.choice(_DAMAGES)(data, random, others)
    return data


def _span(data: bytes, random: Random) -> tuple[int, int]:
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + random.choice([1, 1, 2, 4, 8, 30, 200]))


def _delete(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    begin, end = _span(data, random)
    return data[:begin] + data[end:]


def _insert(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    begin, _ = _span(data, random)
    return data[:begin] + random.choice(_WORDS) * random.choice([1, 1, 1, 2, 40]) + data[begin:]


def _copy(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    begin, end = _span(data, random)
    at, _ = _span(data, random)
    return data[:at] + data[begin:end] * random.choice([1, 1, 2, 30]) + data[at:]


def _flip(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _splice(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    other = random.choice(others)
    (begin, end), (at, to) = _span(other, random), _span(data, random)
    return data[:at] + other[begin:end] + data[to:]


def _swap(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    lines = data.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _truncate(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _nest(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    at, _ = _span(data, random)
    left, right = random.choice([(b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"!(", b")")])
    depth = random.choice([2, 20, 400])
    return data[:at] + left * depth + b"1" + right * depth + data[at:]


_DAMAGES = (_delete, _delete, _insert, _insert, _copy, _flip, _splice, _swap, _truncate, _nest)
