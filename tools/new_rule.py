"""Begins a finding rule: its file, and its pair of trees for the tests.

    make rule NAME="two rows with one key"
    python -m tools.new_rule "two rows with one key"

The rule gets the next free id. Its tests fail until both stubs say something: the rule must find
what the pair's second tree has and the first has not, and no other rule may.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES, PAIRS = Path("rules/findings"), Path("tests/findings/pairs.py")
LONGEST = 70
"""Characters of a title."""

RULE = """\
id: {id}
title: {title}
# error: wrong results, or a call that fails although AITER says that it is supported;
# warning: slower than it needs to be, or a trap; note: the rest.
level: note
# What kind of fact it is about: chain, shape, row, argument, flag, signature or buffer
# (mlaprobe/findings/facts/ gathers them), and which values its fields must have.
about: [chain]
when:
  verdict: [REPLACE_ME]
message: "{{region}}: {title}"
why: >-
  What goes wrong for a person who does not know, and when.
fix: >-
  What that person can do about it.
"""
PAIR = """\
        # What the second tree has and the first has not.
        "{id}": Pair(base, base),
"""
_END = re.compile(r"^    }\n\Z", re.MULTILINE)


class NotBegunError(Exception):
    """Nothing was written, for the reason given."""


def begin(root: Path, title: str) -> tuple[str, tuple[Path, Path]]:
    """Writes the stubs below a checkout.

    Returns:
        The rule's id, and the two files.

    Raises:
        NotBegunError: the title is none, or the checkout is not as expected.
    """
    words = " ".join(title.split())
    if not re.fullmatch(r"[a-z][\w ,;:'/-]*", words) or len(words) > LONGEST or ": " in words:
        raise NotBegunError(
            f"a title is a few plain words that begin with a small letter, up to {LONGEST} "
            "characters: a table row whose file is missing"
        )
    rule_id = _next_id(root / RULES)
    rule, pairs = root / RULES / f"{rule_id}.yaml", root / PAIRS
    text = pairs.read_text(encoding="utf-8")
    if not _END.search(text):
        raise NotBegunError(f"{PAIRS} does not end with the mapping of pairs")
    rule.write_text(RULE.format(id=rule_id, title=words), encoding="utf-8")
    pair = PAIR.format(id=rule_id)
    pairs.write_text(_END.sub(lambda end: pair + end[0], text), encoding="utf-8")
    return rule_id, (rule, pairs)


def _next_id(folder: Path) -> str:
    numbers = [int(file.stem.removeprefix("MLA")) for file in folder.glob("MLA[0-9]*.yaml")]
    return f"MLA{max(numbers, default=0) + 1:03}"


def main(arguments: list[str]) -> int:
    """Begins a rule, and says how to go on."""
    try:
        rule_id, files = begin(ROOT, " ".join(arguments))
    except (NotBegunError, OSError) as error:
        print(f"error: {error}\nhelp: make rule NAME='a few words'", file=sys.stderr)
        return 2
    for file in files:
        print(f"wrote {file.relative_to(ROOT)}")
    print(f"next  fill both in, then: .venv/bin/pytest tests/findings/test_pairs.py -k {rule_id}")
    print("      make reference, for docs/reference/findings.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
