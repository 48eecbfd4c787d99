"""Reads YAML as data: unknown tags name nothing, and nothing is constructed from them."""

from typing import Any

import yaml

from rigpact.contract.errors import UnusableInput

MAX_YAML_BYTES = 1 << 20
"""A deploy file has ten kilobytes. The limit keeps hostile text from filling the memory."""
MAX_VALUES, MAX_DEPTH = 1 << 15, 64
"""Of the text with every alias written out: a few lines of aliases can stand for more data than any memory holds."""
MAX_DIGITS = 4300
"""Python's own limit for a decimal number. One to the base 60 (`1:1:1`) takes the square of its length, and has no limit."""
_EXPECTED = "a contract's settings; arrays belong into .npz, .safetensors or .json"

_MISTAGGED = (AttributeError, LookupError, OverflowError)
"""What yaml raises where a tag promises another type than the text has: `!!timestamp x`, `!!bool x`, `!!int ""`."""


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The reader in C, where pyyaml was built with it: the same values, ten times sooner."""


class _DataLoader(_Loader):  # type: ignore[misc]
    """A safe loader that reads what an unknown tag marks as plain data."""


_NAME_TAG = "tag:yaml.org,2002:python/name:"
"""`!!python/name:module.function ''`: the tag itself is the value, as text."""


def _untagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if suffix.startswith(_NAME_TAG) and not node.value:
        return suffix.removeprefix(_NAME_TAG)
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


def _integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    if len(node.value) > MAX_DIGITS:
        raise ValueError(f"a number of {len(node.value)} characters")
    return loader.construct_yaml_int(node)


_DataLoader.add_multi_constructor("", _untagged)
_DataLoader.add_constructor("tag:yaml.org,2002:int", _integer)


def parse_yaml(content: bytes, place: object) -> Any:
    """The value of YAML text; UnusableInput, with line and column, where it is none."""
    if len(content) > MAX_YAML_BYTES:
        raise UnusableInput(place, f"{len(content)} bytes of YAML", f"at most {MAX_YAML_BYTES}: {_EXPECTED}")
    try:
        text = content.decode("utf-8-sig")
        # UnusableInput for text that is too deep or holds too many values, before a node of it is built
        depth = count = 0
        for event in yaml.parse(text, Loader=_DataLoader):
            count += isinstance(event, yaml.NodeEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            _refuse_size(count, depth, place)
        loader = _DataLoader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                return None
            _refuse_large(root, place)
            _refuse_repeated_keys(loader, root, place)
            return loader.construct_document(root)
        finally:
            loader.dispose()
    except UnicodeDecodeError:
        raise UnusableInput(place, "bytes that are not text", "UTF-8 YAML") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{place}:{mark.line + 1}:{mark.column + 1}" if mark else place
        raise UnusableInput(where, f"text that is not YAML ({getattr(error, 'problem', error)})", "YAML") from None
    except _MISTAGGED:
        raise UnusableInput(
            place, "YAML with a tag that its text does not fit", "lists, tables, numbers, words"
        ) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise UnusableInput(place, f"YAML without plain data ({error})", "lists, tables, numbers, words") from None


def _refuse_size(count: int, depth: int, place: object) -> None:
    if depth > MAX_DEPTH:
        raise UnusableInput(place, f"more than {MAX_DEPTH} nested levels", _EXPECTED)
    if count > MAX_VALUES:
        raise UnusableInput(place, f"more than {MAX_VALUES} values", _EXPECTED)


def _refuse_large(root: yaml.Node, place: object) -> None:
    """UnusableInput for text that is too deep, or too large, with its aliases written out."""
    sizes: dict[int, int] = {}

    def size_of(node: yaml.Node, depth: int) -> int:
        _refuse_size(0, depth, place)
        if id(node) not in sizes:
            children = _children(node)
            sizes[id(node)] = 1 + sum(size_of(child, depth + 1) for child in children)
        return sizes[id(node)]

    _refuse_size(size_of(root, 0), 0, place)


def _refuse_repeated_keys(loader: yaml.SafeLoader, root: yaml.Node, place: object) -> None:
    """UnusableInput for a table in which a key stands twice: the last one would win, and nobody would see the first."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        waiting += _children(node)
        if isinstance(node, yaml.MappingNode):
            keys: dict[Any, int] = {}
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                value, line = loader.construct_object(key), key.start_mark.line + 1
                if value in keys:
                    found = f"the key {key.value!r} twice, first in line {keys[value]}"
                    raise UnusableInput(f"{place}:{line}:{key.start_mark.column + 1}", found, "every key once")
                keys[value] = line


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
