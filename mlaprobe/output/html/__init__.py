"""A report to look at in a browser: one file, without anything from outside it.

Everything that comes from a source is data: JSON in a script element that is never executed, made
into text nodes by ``page.js``. The file's own policy allows that script and that style sheet only,
by their hashes, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape

from mlaprobe.output.escape import printable
from mlaprobe.output.html.assets import asset
from mlaprobe.output.html.page import Page, page_data
from mlaprobe.output.report import where_found

__all__ = ["Page", "html_report"]

STYLES = ("palette.css", "page.css")
SCRIPTS = ("common.js", "map.js", "lists.js")
_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{style_hash}'; \
script-src '{script_hash}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This report is drawn by a script that it holds itself; allow it to run. The same as text:
mlaprobe report.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def html_report(page: Page) -> str:
    """The whole file."""
    style, script = asset(STYLES), asset(SCRIPTS)
    return _TEMPLATE.format(
        title=escape(f"MLA {page.survey.grid.op} of {printable(where_found(page.survey.source))}"),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=script_json(page_data(page)),
    )


def script_json(value: object) -> str:
    """JSON that is safe inside a script element: in ASCII, and without the characters that end
    or nest one."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
