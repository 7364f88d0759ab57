"""Writes the pages of docs/reference/ that come from the code and from rules/.

    python -m tools.reference            # writes them
    python -m tools.reference --check    # says which are not as they would be written

The test suite checks the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools import apipages, clipages, rulepages

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
MARK = "<!-- Written by `make reference` from {source}; edit that instead. -->\n\n"


def pages() -> dict[str, str]:
    """Every generated page, by its name."""
    made = {
        "cli.md": ("mlaprobe/cli/", clipages.cli_page()),
        "api.md": ("the docstrings", apipages.api_page()),
        "findings.md": ("rules/findings/ and rules/changes.yaml", rulepages.findings_page()),
        "errata.md": (
            "rules/errata.yaml, rules/launch.yaml and rules/variations.yaml",
            rulepages.errata_page(),
        ),
        "models.md": ("rules/models.yaml", rulepages.models_page()),
    }
    return {name: MARK.format(source=source) + text for name, (source, text) in made.items()}


def stale() -> list[str]:
    """The pages that are not as they would be written."""
    return [
        name
        for name, text in pages().items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str]) -> int:
    """Writes the pages, or checks them."""
    if arguments == ["--check"]:
        found = stale()
        for name in found:
            print(f"docs/reference/{name} is stale: make reference", file=sys.stderr)
        return 1 if found else 0
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
