"""Values, known and unknown, and what operators and conversions make of them."""

from __future__ import annotations

from mlaprobe.evaluator.values.unknown import UNINITIALISED as UNINITIALISED
from mlaprobe.evaluator.values.unknown import PathText as PathText
from mlaprobe.evaluator.values.unknown import Rest as Rest
from mlaprobe.evaluator.values.unknown import SomeText as SomeText
from mlaprobe.evaluator.values.unknown import Something as Something
from mlaprobe.evaluator.values.unknown import Unknown as Unknown
from mlaprobe.evaluator.values.unknown import Unsure as Unsure
from mlaprobe.evaluator.values.unknown import rest_of as rest_of
from mlaprobe.evaluator.values.unknown import unknown_in as unknown_in
from mlaprobe.evaluator.values.value import Args as Args
from mlaprobe.evaluator.values.value import Kwargs as Kwargs
from mlaprobe.evaluator.values.value import Value as Value
