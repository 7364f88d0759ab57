"""Damaged files by the thousand: nothing may crash, hang or eat memory.

    make fuzz
    python -m tests.fuzz --inputs 200000
    python -m tests.fuzz --seed 17 --only 4711     the one input, again

A refusal in the words of ``mlaprobe.errors`` is right. Anything else that is raised, an input that
takes more than a second of CPU, and more than 500 MB are findings; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from random import Random
from types import FrameType

from tests.fuzz.mutate import mutated
from tests.fuzz.targets import REFUSED, TARGETS, Target

SECONDS = 1.0
HANG = 10.0
MEGABYTES = 500
TOLD = 5000
"""After so many inputs a long run says where it is."""


class Hang(BaseException):
    """An input that is given up."""


def _give_up(number: int, frame: FrameType | None) -> None:
    raise Hang


class Fuzzer:
    """Makes inputs by number, so that each can be made again."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.weights = [t.weight for t in TARGETS]
        self.seeds = {t.name: t.seeds() for t in TARGETS}

    def make(self, number: int) -> tuple[Target, bytes, Random]:
        """The input of that number, and what reads it."""
        random = Random(f"{self.seed} {number}")
        target = random.choices(TARGETS, self.weights)[0]
        seeds = self.seeds[target.name]
        return target, mutated(random.choice(seeds), random, seeds), random

    def run(self, number: int) -> tuple[str, str]:
        """What one input came to: the target, and ``read``, ``refused`` or what is wrong."""
        target, data, random = self.make(number)
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
        try:
            target.read(data, random)
            came = "read"
        except REFUSED:
            came = "refused"
        except Hang:
            return target.name, f"hangs: more than {HANG} s"
        except Exception:
            return target.name, traceback.format_exc(limit=-4)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        took = time.process_time() - begin
        return target.name, came if took <= SECONDS else f"slow: {took:.1f} s"


def fuzz(numbers: Sequence[int], seed: int, until: float | None = None) -> dict[str, list[int]]:
    """Runs inputs and prints what they came to; what is wrong, with the inputs' numbers."""
    signal.signal(signal.SIGVTALRM, _give_up)
    fuzzer, counts, wrong = Fuzzer(seed), Counter[str](), dict[str, list[int]]()
    for number in numbers:
        name, came = fuzzer.run(number)
        good = came in ("read", "refused")
        counts[f"{name}: {came if good else 'wrong'}"] += 1
        if not good:
            wrong.setdefault(f"{name}: {came}", []).append(number)
        if sum(counts.values()) % TOLD == 0:
            print(f"{sum(counts.values())} read, {len(wrong)} findings", file=sys.stderr)
        if until is not None and time.monotonic() > until:
            break
    for label, count in sorted(counts.items()):
        print(f"{label:<24}{count:>9}")
    return wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzzes and reports."""
    parser = argparse.ArgumentParser(description="Feed damaged files to everything that reads.")
    parser.add_argument("--inputs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first input")
    parser.add_argument("--seconds", type=float, help="stop after that long")
    parser.add_argument("--only", type=int, help="run one input and show it")
    options = parser.parse_args(argv)
    numbers = range(options.start, options.start + options.inputs)
    if options.only is not None:
        target, data, _ = Fuzzer(options.seed).make(options.only)
        print(target.name, repr(data))
        numbers = range(options.only, options.only + 1)
    until = None if options.seconds is None else time.monotonic() + options.seconds
    wrong = fuzz(numbers, options.seed, until)
    for what, inputs in wrong.items():
        print(f"\n{len(inputs)}x, inputs {inputs[:5]}\n{what}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")
    return 1 if wrong or peak > MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())
