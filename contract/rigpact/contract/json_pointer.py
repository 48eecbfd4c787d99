"""RFC 6901 JSON pointers: the address of a value inside a JSON document.

Each finding carries one, so that an editor, a code review or a script can go to the exact number.
"""

from collections.abc import Iterable, Iterator
from typing import Any

Token = str | int


def json_pointer(*tokens: Token) -> str:
    """Join keys and indices into a pointer; no token is the whole document.

    >>> json_pointer("meta", "a/b", 3)
    '/meta/a~1b/3'
    """
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def json_containers(value: Any, path: tuple[Token, ...] = ()) -> Iterator[tuple[tuple[Token, ...], Any]]:
    """Yield every object and array with its path, parents first. It does not visit single numbers."""
    if type(value) not in (dict, list):
        return
    yield path, value
    children: Iterable[tuple[Token, Any]] = value.items() if type(value) is dict else enumerate(value)
    for token, child in [pair for pair in children if type(pair[1]) in (dict, list)]:
        yield from json_containers(child, (*path, token))
