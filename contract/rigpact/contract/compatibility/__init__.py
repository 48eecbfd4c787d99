"""Changes between two versions of a contract, and the people that they affect: a schema bundle, or a system's contract file.

    kinds          every kind of change (kinds.toml): who is affected, why, what to do; all changes, the version that they demand
    differences    words, numbers of one meaning and named parts of a vector, side by side
    bundles, systems, declared  where two contracts of a kind differ, in these
    bundle_content  what stands in a bundle, as rows (bundle_declarations.toml), and its bones
    compare        compare_contracts(): the way in

To add a kind of change: a row in kinds.toml, and the difference that yields it. To add a kind of contract: a module that yields
where two of them differ, and its line in compare.
"""

from rigpact.contract.compatibility.compare import compare_contracts
from rigpact.contract.compatibility.kinds import KINDS, Change, ChangeKind, Compatibility, Consumer

__all__ = ["KINDS", "Change", "ChangeKind", "Compatibility", "Consumer", "compare_contracts"]
