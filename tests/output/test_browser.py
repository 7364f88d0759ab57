"""The HTML report in a headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mlaprobe.output.escape import printable
from mlaprobe.output.html import html_report
from tests.browser import Browser, browser, missing
from tests.output import pages

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages."""
    folder = tmp_path_factory.mktemp("pages")
    found = {"page": pages.page(), "hostile": pages.hostile()}
    for name, page in found.items():
        (folder / f"{name}.html").write_text(html_report(page), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in found}


@pytest.fixture
def page(window: Browser, files: dict[str, Path]) -> Browser:
    """The page with everything, freshly opened."""
    window.open(files["page"])
    assert window.complaints() == []
    return window


def select(window: Browser, arch: str, dtype: str, heads: str, qlen: int) -> str:
    """Finds a cell by what stands around it, and gives a selector for it."""
    script = """
      const [arch, dtype, heads, qlen] = arguments;
      document.querySelectorAll("#wanted").forEach((e) => e.removeAttribute("id"));
      const table = document.querySelector(`table[aria-label^="${arch} ${dtype}:"]`);
      const row = [...table.tBodies[0].rows].find((r) => r.cells[0].textContent === heads);
      row.cells[qlen].id = "wanted";
    """
    window.run(script, arch, dtype, heads, qlen)
    return "#wanted"


def text_of(window: Browser, *place: object) -> str:
    """What stands in a cell."""
    return window.text(select(window, *place))  # type: ignore[arg-type]


def test_it_loads_and_says_what_it_is(page: Browser) -> None:
    assert page.run("return document.title") == (
        "MLA decode of AITER v9.9.9, installed in this environment"
    )
    assert page.text("#asked") == "without LSE, persistent, causal, page size 1"
    assert page.texts(".banner") == []
    assert page.texts("h2") == ["What happens", "Changes", "Deployments", "Findings"]
    assert text_of(page, "gfx950", "fp8/fp8", "48", 1) == "F3"
    assert text_of(page, "gfx950", "fp8/fp8", "1-3", 8) == "-"
    assert text_of(page, "gfx950", "fp8/fp8", "128", 1) == "N*"


def test_the_pointer_shows_why(page: Browser) -> None:
    page.point(select(page, "gfx950", "fp8/fp8", "48", 2))
    said = page.text("#detail")
    assert page.text("#detail h3").startswith("FOLDED by 3 gfx950 fp8/fp8, 48 heads, qlen 2")
    for expected in ("csrc/planner.cuh:4", "ratio = heads / 16", "k_fp8_16_ps", "fold"):
        assert expected in said
    assert page.text("#detail .command") == (
        "mlaprobe explain --aiter src/aiter@v9.9.9 --arch gfx950 --dtype fp8/fp8 --heads 48 "
        "--qlen 2"
    )


def test_switches(page: Browser) -> None:
    page.click("input[name=lse][value='1']")
    assert page.text("#asked").startswith("with LSE, persistent")
    assert text_of(page, "gfx950", "fp8/fp8", "128", 1) == "nk"
    page.click("input[name=persistent][value='1']")
    assert page.text("#asked").startswith("with LSE, non-persistent")
    page.point(select(page, "gfx950", "fp8/fp8", "48", 1))
    assert page.text("#detail .command").endswith("--heads 48 --lse --no-persistent")
    page.click("input[name=lse][value='0']")
    assert text_of(page, "gfx950", "fp8/fp8", "128", 1) == "N*"
    assert page.complaints() == []


def test_keys(page: Browser) -> None:
    page.run("document.querySelector('.map td[tabindex=\"0\"]').focus()")
    assert "gfx942 bf16/bf16, 1 head, qlen 1" in page.text("#detail h3")
    page.press("Down", "Down", "Right")
    assert "16 heads, qlen 2" in page.text("#detail h3")
    page.press("End")
    assert "16 heads, qlen 8" in page.text("#detail h3")
    page.press("Right", "Home")
    assert "16 heads, qlen 1" in page.text("#detail h3")
    page.press("Enter")
    page.point(select(page, "gfx950", "fp8/fp8", "48", 1))
    assert "16 heads, qlen 1" in page.text("#detail h3"), "what is kept stays"
    # What is kept follows the switches.
    page.click("input[name=lse][value='1']")
    assert "with LSE" in page.text("#detail h3")
    page.press("Escape")
    page.point(select(page, "gfx950", "fp8/fp8", "64", 1))
    assert "64 heads" in page.text("#detail h3")
    # One stop of the Tab key for each table.
    assert page.run("return document.querySelectorAll('.block td[tabindex=\"0\"]').length") == 6


def test_what_changed_is_marked(page: Browser) -> None:
    marked = page.run("return [...document.querySelectorAll('td.was')].map((e) => e.ariaLabel)")
    assert marked
    assert all(label.startswith("64 heads") and label.endswith("was F4") for label in marked)
    page.point(select(page, "gfx950", "fp8/fp8", "64", 1))
    assert page.text("#detail .was-line") == "In AITER v9.9.8, installed in this environment: F4"
    assert "gfx950 fp8/fp8, 32 heads, qlen 1, without LSE: native -> fold 2" in page.texts(
        "#changes li > p"
    )


def test_deployments(page: Browser) -> None:
    script = """
      const rows = [...document.querySelector(".matrix").tBodies[0].rows];
      return rows.map((row) => [...row.cells].map((each) => each.textContent));
    """
    first = page.run(script)
    assert ["Kimi-K3", "96 F6", "48 F3 →64", "96 F6", "12 N →16", "24 F2 →64"] in first
    page.run(
        "const e = document.getElementById('pair'); e.selectedIndex = 1;"
        "e.dispatchEvent(new Event('change'))"
    )
    assert len(page.run(script)) == len(first)
    page.run("document.querySelector('.matrix td[tabindex=\"0\"]').focus()")
    assert "launch" in page.text("#detail")


def test_findings(page: Browser) -> None:
    assert page.texts("#findings li > p")[0].startswith("gfx942: the row of mla_pfl names")
    assert page.text("#findings .clause").startswith("hsa/gfx942/mla/mla_asm.csv:21")
    assert "not checked: MLA009" in page.text("#findings > ul")


def test_harm(window: Browser, files: dict[str, Path]) -> None:
    window.open(files["hostile"])
    assert window.complaints() == []
    window.run("document.querySelector('.map td[tabindex=\"0\"]').focus()")
    window.press("Enter", "Down", "Down", "Enter")
    window.run("for (const each of document.querySelectorAll('details')) each.open = true")
    shown = printable(pages.HOSTILE)
    assert window.run("return document.title").startswith(f"MLA decode of AITER {shown}")
    assert shown in window.text("#detail")
    assert shown in window.text("header")
    assert window.text(".banner") == shown
    assert window.run("return document.scripts.length") == 2
    for harm in ("img", "iframe", "b b", "[onerror]"):
        assert window.texts(harm) == []
    assert window.complaints() == []


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast of two colours, as WCAG 2 defines it."""

    def light(colour: list[float]) -> float:
        parts = [c / 255 for c in colour[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dim = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_can_be_read(page: Browser, scheme: str) -> None:
    page.prefer(scheme)
    script = """
      const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
      const seen = new Map();
      for (const each of document.querySelectorAll("td[data-row], .badge, p, dt, h1")) {
        const style = getComputedStyle(each);
        let behind = each;
        while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") {
          if (behind.parentElement === null) break;
          behind = behind.parentElement;
        }
        const back = getComputedStyle(behind).backgroundColor;
        seen.set(`${each.className} ${each.tagName}`, [rgb(style.color), rgb(back)]);
      }
      return [...seen];
    """
    found = page.run(script)
    assert len(found) > 10
    for name, (ink, paper) in found:
        assert contrast(ink, paper) >= 4.5, name
    body = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (body == "rgb(255, 255, 255)") is (scheme == "light")
    page.prefer("light")


@pytest.mark.parametrize("width", [360, 800, 1440])
def test_no_width_needs_scrolling_sideways(page: Browser, width: int) -> None:
    page.resize(width, 900)
    over = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.run(over) <= 0
    page.resize(1440, 1000)


def test_a_printed_page_has_everything(page: Browser) -> None:
    page.tell("Emulation.setEmulatedMedia", media="print")
    shown = (
        "return [...document.querySelectorAll(arguments[0])].filter((e) => e.offsetParent).length"
    )
    assert page.run(shown, ".block") == 6
    assert page.run(shown, ".switches, nav, select") == 0
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert page.run("return document.querySelectorAll('details:not([open])').length") == 0
    page.tell("Emulation.setEmulatedMedia", media="")
    assert page.print().startswith(b"%PDF")
