"""What a stage is, needs and does stands in its `Stage`: no table beside it is keyed by stage names."""

import ast
from collections.abc import Iterator
from pathlib import Path

from rigpact.contract.pages.registry import find_system, known_systems

from ..sources import parsed

ROOTS = ("contract", "reference_runtime", "fixtures", "reports")


def _tables(checkout: Path) -> Iterator[tuple[str, set[str]]]:
    """Every table of a module, outside functions: its place and the words among its keys."""
    for root in ROOTS:
        for path in sorted((checkout / root / "rigpact").rglob("*.py")):
            for node in parsed(path).body:
                value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
                if isinstance(value, ast.Dict):
                    words = {key.value for key in value.keys if isinstance(key, ast.Constant)}
                    yield (
                        f"{path.relative_to(checkout)}:{node.lineno}",
                        {word for word in words if isinstance(word, str)},
                    )


def test_no_table_is_keyed_by_stage_names(checkout: Path) -> None:
    """A stage that is added to a system and forgotten in a table is silently never spoilt, explained or judged."""
    stages = [set(find_system(name).graph.names) for name in known_systems()]

    assert [place for place, words in _tables(checkout) if any(len(words & own) >= 2 for own in stages)] == []
