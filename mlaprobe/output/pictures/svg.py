"""Pictures as SVG, by hand: what they all are made of. Text is escaped, nothing is executed, and
colours follow the reader's theme."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from mlaprobe.output.escape import printable
from mlaprobe.output.html.assets import asset

STYLES = ("palette.css", "svg.css")
CHARACTER = 7.3
"""The width of a character of ``text`` in pixels."""
LINE = 18
"""From one line of text to the next."""
MARGIN = 16


def tag(name: str, *inside: str, **attributes: object) -> str:
    """An element. What is inside is SVG already; attributes are escaped. ``class_`` is ``class``,
    other underscores are hyphens."""
    words = "".join(
        f" {'class' if key == 'class_' else key.replace('_', '-')}={quoteattr(_said(value))}"
        for key, value in attributes.items()
    )
    return f"<{name}{words}>{''.join(inside)}</{name}>" if inside else f"<{name}{words}/>"


def _said(value: object) -> str:
    """A number without needless digits; anything else as text that can be seen."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else printable(str(value))


def words(text: str, x: float, y: float, style: str = "") -> str:
    """A line of text, its foot at a place."""
    return tag("text", escape(printable(text)), x=float(x), y=float(y), class_=style)


def hint(text: str) -> str:
    """What a browser shows when the pointer rests on the element that this is in."""
    return tag("title", escape(printable(text)))


def length(text: str) -> float:
    """The width of a line of text in pixels, about."""
    return len(printable(text)) * CHARACTER


def picture(width: float, height: float, title: str, body: Iterable[str]) -> str:
    """A whole file.

    Args:
        title: what the picture is, for those who do not see it.
    """
    size = f"{width:.0f} {height:.0f}"
    inside = [hint(title), f"<style>{asset(STYLES)}</style>", *body]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img">',
            *inside,
            "</svg>\n",
        ]
    )
