"""What changes for whom between two versions of a bundle.

    kinds          every kind of change as data: who is affected, why, what to do
    change         one change, all changes together, the version that they demand
    layouts, bones, skeletons, numbers, declarations    what differs, each in its own sense
    compare        compare_bundles(): the way in
    record         the entry for the contract document's change record

To add a kind of change: a row in kinds, and the comparison that yields it.
"""

from rigpact.contract.compatibility.change import Change, Compatibility
from rigpact.contract.compatibility.compare import compare_bundles
from rigpact.contract.compatibility.kinds import KINDS, ChangeKind, Consumer

__all__ = ["KINDS", "Change", "ChangeKind", "Compatibility", "Consumer", "compare_bundles"]
