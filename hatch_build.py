"""Compiles the loop in C++ while rigpact is installed, where a compiler is there; without one numpy computes the same.

`python hatch_build.py` compiles it into the checkout. RIGPACT_NATIVE=0 leaves it out of a build.
"""

from __future__ import annotations

import os
import platform
import runpy
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
CPP = ROOT / "reference_runtime" / "cpp"
PACKAGE = ROOT / "reference_runtime" / "rigpact" / "reference_runtime" / "native"
COMPILERS = ("c++", "g++", "clang++")
# The same bits on every processor: no contraction. What a loop of C++ must not assume of floating point stays off.
FLAGS = ("-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fvisibility=hidden")
LINKED = () if sys.platform == "darwin" else ("-static-libstdc++", "-static-libgcc")
WIDE = ("-march=x86-64-v3",)
LONGEST_S = 300


def compiled(folder: Path = PACKAGE) -> list[Path]:
    """The libraries in a folder; none where no compiler is, or where it fails."""
    found = (shutil.which(name) for name in (os.environ.get("CXX", ""), *COMPILERS) if name)
    compiler = next((each for each in found if each), None)
    if compiler is None or os.environ.get("RIGPACT_NATIVE") == "0" or os.name == "nt":
        return []
    known = runpy.run_path(str(PACKAGE / "sources.py"))  # the loader's own module; it imports nothing of rigpact
    sources, stem = known["sources_sha256"](CPP), known["STEM"]
    wanted = {stem: ()} | ({f"{stem}_wide": WIDE} if platform.machine() in {"x86_64", "AMD64"} else {})
    outs = [folder / f"{name}{known['ENDING']}" for name in wanted]
    linked = ("-shared", "-fPIC", "-pthread", *LINKED, f'-DRIGPACT_SOURCES="{sources}"', f"-I{CPP / 'include'}")
    words = [[compiler, *FLAGS, *own, *linked, *map(str, known["sources"](CPP))] for own in wanted.values()]
    with ThreadPoolExecutor() as side_by_side:
        made = list(side_by_side.map(_ran, words, outs))
    return [out for out, is_made in zip(outs, made, strict=True) if is_made]


def _ran(words: list[str], out: Path) -> bool:
    """Compile under a temporary name, then rename: a running rigpact keeps the library that it has loaded.

    False where that fails, for whatever reason of the machine: an install must not fail for want of speed.
    """
    try:
        with tempfile.TemporaryDirectory(dir=out.parent) as folder:
            made = Path(folder) / out.name
            subprocess.run([*words, "-o", str(made)], check=True, capture_output=True, timeout=LONGEST_S)  # noqa: S603
            made.replace(out)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand, where only a compiler is
    BuildHookInterface = object  # type: ignore[assignment,misc]


class NativeLoop(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Hatch's hook: the wheel holds the libraries and is then one for a platform."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile: an editable install beside the sources, a wheel elsewhere; the wheel is then one of a platform."""
        if self.target_name != "wheel":  # a source distribution is compiled where it is installed
            return
        if version != "standard":
            compiled()
            return
        self._folder = tempfile.TemporaryDirectory()
        made = compiled(Path(self._folder.name))
        if made:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"
            place = "rigpact/reference_runtime/native"
            build_data["force_include"] |= {str(each): f"{place}/{each.name}" for each in made}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if self.target_name == "wheel" and version == "standard":
            self._folder.cleanup()


def _platform() -> str:
    import sysconfig

    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


if __name__ == "__main__":
    names = compiled()
    print(*(name.relative_to(ROOT) for name in names), sep="\n" if names else "no compiler: numpy computes the same\n")  # noqa: T201
    sys.exit(0 if names else 1)
