"""Programs about containers of the C++ library."""

from tests.generated.containers.keyed import MAPS, MULTIMAP, MULTISET, NAMED, SETS
from tests.generated.containers.ordered import ARRAY, SEQUENCES
from tests.generated.containers.others import BITSET, OPTIONAL, TEXT

KINDS = (*MAPS, NAMED, *SETS, MULTISET, MULTIMAP, *SEQUENCES, ARRAY, BITSET, TEXT, OPTIONAL)
