"""Python that never ends, or that makes more than fits, costs about a second and little memory."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from tests.generated.test_rewrites import UNKNOWN, Asked, result

ENDLESS = {
    "any of a count": "import itertools\ndef native(h, q):\n"
    "    return any(x < 0 for x in itertools.count())\n",
    "membership in a count": "import itertools\ndef native(h, q):\n"
    "    return -1 in itertools.count()\n",
    "a sum of a count": "import itertools\ndef native(h, q):\n    return sum(itertools.count())\n",
    "loops in loops": "def native(h, q):\n    t = 0\n    for a in range(20000):\n"
    "        for b in range(20000):\n            t += 1\n    return t\n",
    "a comprehension of nothing": "def native(h, q):\n"
    "    return [1 for a in range(20000) for b in range(20000) if a < 0]\n",
    "calls of calls": "def f(n):\n    return f(n - 1) + f(n - 2) if n > 1 else n\n"
    "def native(h, q):\n    return f(35)\n",
    "a list that doubles": "def native(h, q):\n    xs = [1]\n    for i in range(60):\n"
    "        xs.extend(xs)\n    return len(xs)\n",
    "a text that doubles": "def native(h, q):\n    s = 'a'\n    for i in range(60):\n"
    "        s = f'{s}{s}'\n    return len(s)\n",
    "a text that is replaced": "def native(h, q):\n    s = 'a' * 1000\n    for i in range(60):\n"
    "        s = s.replace('a', s)\n    return len(s)\n",
    "wide formats": "def native(h, q):\n    return len('%999999999d' % h)\n",
    "a product": "import itertools\ndef native(h, q):\n"
    "    return len(list(itertools.product(range(1000), repeat=4)))\n",
    "a module that never ends": "T = []\nwhile True:\n    T.append(1)\n"
    "def native(h, q):\n    return len(T)\n",
    "a module that fills a table": "T = {}\nfor a in range(19000):\n    for b in range(19000):\n"
    "        T[a, b] = 1\ndef native(h, q):\n    return len(T)\n",
    "a generator that never ends": "def g():\n    while True:\n        yield 1\n"
    "def native(h, q):\n    return next(g())\n",
    "attributes without end": "class A:\n    def __getattr__(self, n):\n"
    "        return getattr(self, n + 'x')\ndef native(h, q):\n    return A().a\n",
}


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_what_does_not_end_is_given_up(name: str) -> None:
    tracemalloc.start()
    try:
        start = time.process_time()
        assert result(Asked(ENDLESS[name]).paths((16, 1))) == UNKNOWN
        seconds = time.process_time() - start
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert seconds < 10  # traced, and on a busy machine; alone it is below one


def test_a_list_that_holds_itself() -> None:
    """It ends; what is put into a list may be changed there, and so is not known."""
    text = "T = [1]\nT.append(T)\ndef native(h, q):\n    return len(T), len(T[1])\n"
    assert result(Asked(text).paths((16, 1))) in ("(2, 2)", "?")
