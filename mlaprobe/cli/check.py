"""``mlaprobe check``: whether a new AITER may take the place of the pinned one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlaprobe.cli.support import common, emit, outputs, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.outputs import FormatOption
from mlaprobe.cli.support.progress import Progress
from mlaprobe.core.enums import Operation
from mlaprobe.core.inputs import closest
from mlaprobe.errors import UsageError
from mlaprobe.output.escape import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlaprobe.compare.diff import Kind
    from mlaprobe.compare.gate import Check
    from mlaprobe.compare.waivers import Waiver

PIN = "The snapshot of the AITER in use."
FAIL_ON = "Classes of changes that fail, or none."
NEEDS = "Compare also what launches need (implied where it fails): takes minutes."
ACCEPT = "Show what changed, then make the new AITER the pin."
EPILOG = """\b
Examples:
  mlaprobe snapshot --aiter ~/src/aiter@v0.1.20 -o aiter.pin          make the pin
  mlaprobe check --pin aiter.pin --aiter ~/src/aiter@main
  mlaprobe check --pin aiter.pin --aiter installed --deployments deployments.yaml
  mlaprobe check --pin aiter.pin --aiter installed --format sarif=out.sarif --format markdown=out.md
  mlaprobe check --pin aiter.pin --aiter installed --accept           take over what changed

Exit codes: 0 nothing that matters got worse, 10 something did (or a waiver has expired), 11
something that is needed is not known, 1 a source cannot be read, 2 wrong usage.
"""


@o.with_filters
def check(
    ctx: typer.Context,
    pin: Annotated[str, o.option("--pin", "FILE", PIN, callback=o.named)],
    aiter: o.AiterOption = "installed",
    deployments: o.DeploymentsFile = None,
    waivers: o.WaiversFile = None,
    fail_on: Annotated[str, o.option("--fail-on", "LIST", FAIL_ON)] = "breaks,slower",
    needs: Annotated[bool, o.switch("--needs", NEEDS)] = False,
    accept: Annotated[bool, o.switch("--accept", ACCEPT)] = False,
    filters: o.Filters = None,
    every: bool = typer.Option(False, "--all", help="Show every change in the text."),
    format: FormatOption = None,
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> int:
    """Compares an AITER with the pinned one, and fails where something that matters got worse.

    For CI: it needs no GPU, no ROCm and no torch. Only changes are judged; new findings inside the
    new AITER are listed.
    """
    return _run(ctx.params)


def parse_kinds(text: str) -> tuple[Kind, ...]:
    """Classes of changes: a comma list, or ``none``.

    Raises:
        UsageError: there is no such class.
    """
    from mlaprobe.compare.diff import Kind

    if text.strip() == "none":
        return ()
    names = common.parse_names("--fail-on", text, hint="write none where nothing is to fail")
    return tuple(Kind(common.parse_choice("--fail-on", n, tuple(map(str, Kind)))) for n in names)


def _run(given: dict[str, Any]) -> int:
    from mlaprobe.cli.compare import archs_of, load_served
    from mlaprobe.compare.waivers import load_waivers

    reads = (given["pin"], given["aiter"], given["deployments"], given["waivers"])
    wanted = outputs.parse_outputs(given["format"], given["output"], reads=reads)
    fail_on = parse_kinds(given["fail_on"])
    served = load_served(given)
    waivers = () if given["waivers"] is None else load_waivers(given["waivers"])
    _warn_strays(waivers, [serving.name for serving in served], given)
    shapes.check_filters(given)
    if given["accept"]:
        _pin_file(given["pin"])
    old, new = common.both(given["pin"], given["aiter"], quiet=given["quiet"])
    common.warn_unnamed([old, new], archs_of(given, served), quiet=given["quiet"])
    # Before anything is shown: what cannot become a pin is an error at once.
    text = _pin_text(new, given["aiter"]) if given["accept"] else None
    done = _judge(given, old, new, served=served, fail_on=fail_on, waivers=waivers)
    specs = {"old": given["pin"], "new": given["aiter"]}
    outputs.write_outputs(done.results, wanted, specs=specs, every=given["every"])
    if text is None:
        return done.code
    emit.write(text, given["pin"])
    if not given["quiet"]:
        print(printable(f"{given['pin']} is the pin of {given['aiter']} now"), file=sys.stderr)
    return 0


def _warn_strays(waivers: Sequence[Waiver], names: Sequence[str], given: dict[str, Any]) -> None:
    """Says which waivers are for deployments that are not there: they cover nothing."""
    for waiver in waivers:
        if waiver.deployment in (None, *names):
            continue
        close = closest(waiver.deployment or "", names)
        hint = f" (did you mean {close!r}?)" if close else ""
        named = given["deployments"] or "no deployments file"
        emit.warn(
            f"{waiver.file}:{waiver.line}: the waiver for {waiver.deployment!r} covers nothing, "
            f"{named} has no such deployment{hint}",
            quiet=given["quiet"],
        )


def _judge(given: dict[str, Any], old: Any, new: Any, **rules: Any) -> Check:
    from mlaprobe.cli.compare import grids_of
    from mlaprobe.compare.gate import check as judged
    from mlaprobe.compare.signatures import changed_signatures
    from mlaprobe.findings.inspection import new_findings

    op = common.parse_operation("--op", given["op"] or "decode")
    changes = changed_signatures(old, new) if op is Operation.DECODE else ()
    with Progress("shapes compared", quiet=given["quiet"]) as progress:
        return judged(
            old,
            new,
            grids=() if rules["served"] else grids_of(given, old, new),
            needs=given["needs"],
            findings=(*changes, *new_findings(old, new, rules["served"], op)),
            step=progress.step,
            **rules,
        )


def _pin_file(pin: str) -> None:
    """Checks that a pin can be written.

    Raises:
        UsageError: it cannot.
    """
    if not Path(pin).is_file():
        raise UsageError(f"--accept: {pin} is no file", hint="make one: mlaprobe snapshot -o FILE")
    emit.check_writable(Path(pin))


def _pin_text(answers: Any, spec: str) -> str:
    """The snapshot of a source, as a file holds it.

    Raises:
        UsageError: the source is a snapshot itself; copying it is a matter of a file.
        SourceError: a file of the source cannot be read.
    """
    from mlaprobe.opening.shortcut import evaluated
    from mlaprobe.snapshot.making import make

    capability = evaluated(answers)
    if capability is None:
        raise UsageError(
            f"--accept: {spec} is a snapshot already",
            hint="copy it, or make one: mlaprobe snapshot -o FILE",
        )
    return make(capability)
