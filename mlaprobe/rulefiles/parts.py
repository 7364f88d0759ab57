"""Parts of schemas that several rule files have in common."""

from __future__ import annotations

from typing import Any

from mlaprobe.rulefiles.loader import Place
from mlaprobe.rulefiles.schema import ListOf, Schema, Text


class _Unique(Schema):
    """A list of mappings, no two with one id."""

    def __init__(self, item: Schema) -> None:
        self._list = ListOf(item, at_least=1)

    @property
    def expects(self) -> str:
        return self._list.expects

    def fits(self, value: Any) -> bool:
        return self._list.fits(value)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        self._list.check_inside(value, place, where)
        seen: dict[str, int] = {}
        for item in value:
            at = item.places["id"]
            if item["id"] in seen:
                raise at.error(
                    f"the id {item['id']!r} is there twice",
                    hint=f"it stands in line {seen[item['id']]} already",
                )
            seen[item["id"]] = at.line


def unique_by_id(item: Schema) -> Schema:
    """A schema for a list of mappings that each have an ``id`` of their own."""
    return _Unique(item)


REFERENCES = ListOf(Text(pattern=r"https://\S+", form="an address"), at_least=1, unique=True)
SLUG = Text(pattern=r"[a-z0-9][a-z0-9.-]*", form="an id like aiter-4363")
