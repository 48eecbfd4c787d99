"""YAML of two megabytes or less that would fill the memory, or take a minute: values are counted before one is built."""

import sys
from pathlib import Path

import pytest

from rigpact.contract.declared.yaml_text import parse_yaml

from ..peak_memory import measured_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on memory")
MEGABYTES, SECONDS = 300, 6
"""The largest memory in use, and processor time: a quiet machine starts and answers in one second, with 60 MB."""
FILES = {
    "list": ("[" + "1," * 1_000_000 + "1]", "2000003 bytes of YAML"),
    "shorter-list": ("[" + "1," * 500_000 + "1]", "more than 32768 values"),
    "rows": ("- 1\n" * 250_000, "more than 32768 values"),
    "keys": ("".join(f"k{number}: 1\n" for number in range(90_000)), "more than 32768 values"),
    "levels": ("[" * 1_000_000, "nest"),
    "levels-of-lines": ("- " * 100, "more than 64 nested levels"),
    "base-60": ("a: 1" + ":1" * 500_000, "a number of 1000001 characters"),
    "word": ("a: " + "b" * 1_000_000, "YAML with a"),
    "quoted-lines": ('a: "' + "\n" * 1_000_000 + '"', "YAML with a"),
}


@pytest.mark.parametrize("name", FILES)
def test_small_yaml_is_refused_before_it_is_built(name: str, tmp_path: Path) -> None:
    """A list of two megabytes took a minute and 800 MB."""
    import resource

    text, found = FILES[name]
    (tmp_path / "deploy.yaml").write_text(text, encoding="utf-8")
    done = measured_command(
        tmp_path, "init", "--from", "deploy.yaml", "-o", "out.toml", limits={resource.RLIMIT_CPU: SECONDS}
    )
    assert done.status == 2, done.err
    assert found in done.err
    assert done.peak_bytes < MEGABYTES << 20


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[" + "1.5," * 30_000 + "2]", [1.5] * 30_000 + [2]),
        ("a: 1:30\nb: -1:0:1\nc: 0x1F\nd: 1_000\n", {"a": 90, "b": -3601, "c": 31, "d": 1000}),
        (f"a: {10**4200}", {"a": 10**4200}),
        ("a: !robot {b: !!int '7'}\nc: 2020-01-01\n", None),
    ],
    ids=["list", "numbers", "long", "tags"],
)
def test_yaml_within_the_limits_is_read(text: str, value: object) -> None:
    read = parse_yaml(text.encode(), "deploy.yaml")
    if value is None:
        assert read["a"] == {"b": 7}
        assert read["c"].isoformat() == "2020-01-01"
    else:
        assert read == value
