"""docs/index.md: where to begin, and every page in the order of the site's navigation (mkdocs.yml)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
_HEAD = """# rigpact

**Your network was trained in Python and runs in C++. rigpact finds where the two disagree, and why.** It replays every stage of the
loop from a recording of the other side, says which stage differs, in which frame, bone or joint, and names the mistake with a line of
code.

| you want to | begin with |
|---|---|
| compare two files, or a script and a log | `rigpact diff`, then [your own tests](testing.md) |
| install it | [install](install.md) |
| see it work on a character in an engine, in ten minutes | [the tutorial](tutorial.md), [教程](tutorial.zh-CN.md) |
| see it work on a policy on a robot, in one minute | `rigpact demo robot`, then [your own contract](own-contract.md), [importing](importing.md) |
| know what an answer means, and what to do | [triage](howto/triage.md), [分诊](howto/triage.zh-CN.md) |
| gate a project that has none | [a first gate](howto/first-gate.md), [in your CI](ci.md) |
| choose between two checkpoints | [compare checkpoints](howto/compare-checkpoints.md) |
| find why a character falls apart after a second | [a free run that explodes](howto/free-run-explodes.md) |
| record your own engine | [a recorder in your class](howto/recorder.md), [rigpact in an engine](cpp.md) |
| know why to believe an answer, and what it does not say | [how rigpact judges](how-it-judges.md), [what was tried](trust.md), [evidence](evidence.md) |
| look something up | [glossary](glossary.md), [rules](rules.md), [configuration](configuration.md), [conventions](conventions.md) |

These pages are in the repository's folder `docs`. `python -m tox -e docs` builds them as a site; `python -m http.server -d site` shows it,
without a network.

## Every page
"""  # noqa: E501 - rows of a table


class Navigation(yaml.SafeLoader):
    """Reads mkdocs.yml without running what its tags name."""


Navigation.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def index_page() -> str:
    """docs/index.md."""
    settings = yaml.load((CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=Navigation)  # noqa: S506
    return _HEAD + "".join(_listed(settings["nav"], ""))


def _listed(entries: list[Any], indent: str) -> Iterator[str]:
    for entry in entries:
        [(title, inside)] = entry.items() if isinstance(entry, dict) else [(None, entry)]
        if isinstance(inside, list):
            yield f"{indent}- {title}\n"
            yield from _listed(inside, f"{indent}    ")
        elif inside != "index.md":
            yield f"{indent}- [{title or _heading(inside)}]({inside})\n"


def _heading(page: str) -> str:
    """The title of a page that the navigation gives none."""
    return (CHECKOUT / "docs" / page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
