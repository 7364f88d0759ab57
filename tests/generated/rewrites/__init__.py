"""Python modules that say which head counts are native, each in another construct.

A module has a function ``native(heads, qlen)``. What it returns is what Python makes of it.
"""

from tests.generated.rewrites.acting import ACTING
from tests.generated.rewrites.blocks import BLOCKS, WRITTEN
from tests.generated.rewrites.bytext import BY_TEXT
from tests.generated.rewrites.calling import CALLING
from tests.generated.rewrites.classes import CLASSES
from tests.generated.rewrites.classmaking import CLASS_MAKING
from tests.generated.rewrites.contexts import CONTEXTS, ODD_CONTEXTS
from tests.generated.rewrites.corners import CORNERS
from tests.generated.rewrites.descriptors import DESCRIPTORS
from tests.generated.rewrites.enums import ENUMS
from tests.generated.rewrites.functions import FUNCTIONS
from tests.generated.rewrites.further import FURTHER
from tests.generated.rewrites.globals import GLOBALS, ODD_GLOBALS
from tests.generated.rewrites.grouping import GROUPING
from tests.generated.rewrites.lasting import LASTING
from tests.generated.rewrites.modules import MODULES
from tests.generated.rewrites.objects import OBJECTS
from tests.generated.rewrites.ordinary import ORDINARY
from tests.generated.rewrites.patterns import PATTERNS
from tests.generated.rewrites.records import RECORDS
from tests.generated.rewrites.registered import REGISTERED
from tests.generated.rewrites.registering import REGISTERING
from tests.generated.rewrites.shared import SHARED
from tests.generated.rewrites.tables import TABLES
from tests.generated.rewrites.texts import TEXTS
from tests.generated.rewrites.unbound import ODD_UNBOUND, UNBOUND
from tests.generated.rewrites.unboundagain import UNBOUND_AGAIN
from tests.generated.rewrites.unseen import UNSEEN
from tests.generated.rewrites.unseenlookups import UNSEEN_LOOKUPS
from tests.generated.rewrites.unseenmore import UNSEEN_MORE
from tests.generated.rewrites.unseenobjects import STEADY, UNSEEN_OBJECTS
from tests.generated.rewrites.unseentexts import UNSEEN_TEXTS
from tests.generated.rewrites.unseenuses import UNSEEN_USES

REWRITES = {
    **BLOCKS,
    **BY_TEXT,
    **CALLING,
    **CLASSES,
    **CLASS_MAKING,
    **CONTEXTS,
    **DESCRIPTORS,
    **ENUMS,
    **FUNCTIONS,
    **GLOBALS,
    **GROUPING,
    **ORDINARY,
    **PATTERNS,
    **RECORDS,
    **REGISTERING,
    **STEADY,
    **TABLES,
    **TEXTS,
    **UNBOUND,
    **UNBOUND_AGAIN,
}

CASES = {
    **ACTING,
    **FURTHER,
    **MODULES,
    **CORNERS,
    **OBJECTS,
    **SHARED,
    **ODD_CONTEXTS,
    **ODD_UNBOUND,
}
"""Modules of which not all is followed."""

CHANGED = {
    **UNSEEN,
    **UNSEEN_MORE,
    **UNSEEN_OBJECTS,
    **UNSEEN_USES,
    **REGISTERED,
    **ODD_GLOBALS,
    **UNSEEN_TEXTS,
    **UNSEEN_LOOKUPS,
}
"""Modules that change values where the name does not show it."""

__all__ = ["CASES", "CHANGED", "LASTING", "REWRITES", "WRITTEN"]
