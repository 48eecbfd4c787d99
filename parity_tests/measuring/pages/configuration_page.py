"""docs/configuration.md: the keys of rigpact.toml, from the tables that the reader uses."""

from collections.abc import Mapping

from rigpact.contract.settings import gate, geometry
from rigpact.contract.settings.lowering import KEYS as LOWER_KEYS

_HEAD = """# Configuration

`rigpact check`, `rigpact gate` and `rigpact check --module` read the nearest `rigpact.toml`, or `[tool.rigpact]` of the nearest
`pyproject.toml`, going up from the folder they run in; `--config FILE` names one. All keys are optional. `rigpact init` writes a
commented file. Its first line names its JSON Schema; `rigpact show schema --write .` puts that file beside it, and an editor
completes and checks the keys then ([own-contract.md](own-contract.md#completion-in-your-editor)).

`check`, `explain`, `diff`, `nan`, `run`, `convert` and `sweep` take contract, companion, model, clip and conventions from
`[gate]` too, where the command line names no contract; their first line says which. No setting makes a command run code.

This page is generated; `python -m parity_tests.measuring.pages.generated_docs` writes it.

## What is heard

```toml
baseline = "known-findings.json"   # known findings, beside this file

[severity]                         # hear more: a code, or what codes begin with; the longest that fits counts
RP526 = "error"

[[lower]]                          # hear less: one rule, for a while
rule = "RP533"
to = "info"
paths = ["clips/props/*"]
owner = "Ana"
reason = "props turn faster than limbs"
expires = "2027-03-31"
```

A misspelt key, an unknown code or an unknown severity stops the command with one line and status 2. `[severity]` only raises.
A rule that counts less is a debt, in `[[lower]]`:

- each entry is about one rule and has an owner, a reason and a last day; a family of rules cannot be lowered, nor can the rules
  RP950 to RP955, RP974 to RP976 and RP978, which say what the settings let be;
- every answer shows it, in every format: RP954 while it holds, RP953 where it finds nothing, RP952 after its day. RP952 fails;
- an ignored finding counts as waived in the ledger. A file that could not be read stays missing, whatever is lowered.
{LOWER}

## Known findings
```console
$ rigpact check norm_template.json --write-baseline known-findings.json --owner Ana --reason "next export" --expires 2027-03-31
```

writes today's errors and warnings as known, each with its fingerprint (rule, file name, pointer: a changed number does not make
it new; an entry whose fingerprint is not its own is refused). Edit the file to give each its own owner, reason and day. From then
on:

- a known finding is waived: it leaves the report and counts as waived in the ledger; RP955 says how many, for whom and how long;
- the day after `expires` it is back, and RP950 fails by itself;
- a waiver that meets no finding is RP951, information: remove it.

## The gate
What `rigpact gate` asks; paths are relative to the configuration file. In pyproject.toml the tables begin with
`tool.rigpact.gate`.

```toml
[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
model = "model.onnx"
clips = ["clips/*.json"]
base = "origin/main"

[[gate.teacher]]
file = "teacher_predictions/walk_prediction.json"
clip = "clips/walk.json"

[[gate.trace]]
file = "engine/walk.trace.jsonl"
clip = "clips/walk.json"
stages = ["x_raw", "y_norm", "y_out"]

[gate.thresholds]
pose-deg = 0.5

[gate.budget]
parameters = 600000
```
"""


_GEOMETRY = """
## The functions of the training side
What `rigpact check --module` is told of a module's functions; [geometry.md](geometry.md) has an example.
"""


def configuration_page() -> str:
    """docs/configuration.md."""
    head = _HEAD.replace("{LOWER}\n", _table("lower", LOWER_KEYS))
    gate_tables = "".join(_table(name, gate.KEYS[name]) for name in gate.KEYS)
    return head + gate_tables + _GEOMETRY + "".join(_table(name, geometry.KEYS[name]) for name in geometry.KEYS)


def _table(name: str, keys: Mapping[str, str]) -> str:
    is_list = name in ("lower", "gate.teacher", "gate.trace", "gate.waive", "geometry.function")
    heading = f"[[{name}]]" if is_list else f"[{name}]"
    rows = "\n".join(f"| `{key}` | {meaning} |" for key, meaning in keys.items())
    return f"\n### `{heading}`\n| key | meaning |\n|---|---|\n{rows}\n"
