"""What changes for whom between two versions of a contract: a schema bundle, or a system's contract file.

    kinds          every kind of change as data: who is affected, why, what to do
    change         one change, all changes together, the version that they demand
    layouts, bones, skeletons, numbers, declarations, companions    what differs in bundles, each in its own sense
    contract_files, constants    what differs in contract files of a declared system
    places, values    named parts of a vector, and JSON values, side by side
    compare        compare_contracts(): the way in
    record         the entry for the contract document's change record

To add a kind of change: a row in kinds, and the comparison that yields it.
"""

from rigpact.contract.compatibility.change import Change, Compatibility
from rigpact.contract.compatibility.compare import compare_bundles, compare_contracts
from rigpact.contract.compatibility.kinds import KINDS, ChangeKind, Consumer

__all__ = ["KINDS", "Change", "ChangeKind", "Compatibility", "Consumer", "compare_bundles", "compare_contracts"]
