"""What mkdocs is told about the pages, which are written for a reader of the repository.

The words behind a fence's language are for the tests; the site shows the file's name above the block. A link to a file of the
repository outside docs/ leads to a copy of it in the site.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

_FENCE = re.compile(r"^```(?P<language>\w+) path=(?P<path>\S+)(?: .*)?$", re.MULTILINE)
_OUTSIDE = re.compile(r"\]\((?P<link>(?:\.\./)+(?:fixtures)/[^)#\s]+)\)")
COPIES = "repository"
"""The folder of the site that holds copies of files outside docs/."""


def on_files(files: Any, config: Any) -> Any:
    """Put every file of the repository that a page links to into the site."""
    from mkdocs.structure.files import File

    root = Path(config.docs_dir).parent
    pages = [file for file in files if file.src_uri.endswith(".md")]
    linked = {target for page in pages for target in _targets(page.src_uri, page.content_string)}
    for target in sorted(linked):
        files.append(File.generated(config, f"{COPIES}/{target}", abs_src_path=str(root / target)))
    return files


def on_page_markdown(markdown: str, page: Any, **_of_the_build: object) -> str:
    """The page's text as mkdocs reads it."""
    name = page.file.src_uri

    def copied(found: re.Match[str]) -> str:
        copy = f"{COPIES}/{_target(name, found['link'])}"
        return f"]({relpath(copy, PurePosixPath(name).parent)})"

    return _FENCE.sub(r'```{.\g<language> title="\g<path>"}', _OUTSIDE.sub(copied, markdown))


def _targets(page: str, text: str) -> list[str]:
    return [_target(page, found["link"]) for found in _OUTSIDE.finditer(text)]


def _target(page: str, link: str) -> str:
    return normpath(f"docs/{PurePosixPath(page).parent}/{link}")
