"""Reads YAML as data: unknown tags name nothing, and nothing is constructed from them."""

from __future__ import annotations

from typing import Any

import yaml

from rigpact.contract.errors import UnusableInput

MAX_YAML_BYTES = 1 << 24
"""A deploy file has kilobytes. The limit keeps hostile text from filling the memory."""
MAX_VALUES, MAX_DEPTH = 1 << 20, 64
"""Of the text with every alias written out: a few lines of aliases can stand for more data than any memory holds."""


class _DataLoader(yaml.SafeLoader):
    """A safe loader that reads what an unknown tag marks as plain data."""


def _untagged(loader: yaml.SafeLoader, _suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


_DataLoader.add_multi_constructor("", _untagged)


def parse_yaml(content: bytes, place: object) -> Any:
    """The value of YAML text; UnusableInput, with line and column, where it is none."""
    if len(content) > MAX_YAML_BYTES:
        raise UnusableInput(place, f"{len(content)} bytes of YAML", f"at most {MAX_YAML_BYTES}")
    try:
        loader = _DataLoader(content.decode("utf-8-sig"))
        try:
            root = loader.get_single_node()
            if root is None:
                return None
            _refuse_large(root, place)
            return loader.construct_document(root)
        finally:
            loader.dispose()
    except UnicodeDecodeError:
        raise UnusableInput(place, "bytes that are not text", "UTF-8 YAML") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{place}:{mark.line + 1}:{mark.column + 1}" if mark else place
        raise UnusableInput(where, f"text that is not YAML ({getattr(error, 'problem', error)})", "YAML") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise UnusableInput(
            place, f"YAML that holds no plain data ({error})", "lists, tables, numbers, words"
        ) from None


def _refuse_large(root: yaml.Node, place: object) -> None:
    """UnusableInput for text that is too deep, or too large with its aliases written out."""
    sizes: dict[int, int] = {}

    def size_of(node: yaml.Node, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise UnusableInput(place, f"more than {MAX_DEPTH} nested levels", "a contract's settings")
        if id(node) not in sizes:
            children = _children(node)
            sizes[id(node)] = 1 + sum(size_of(child, depth + 1) for child in children)
        return sizes[id(node)]

    if size_of(root, 0) > MAX_VALUES:
        raise UnusableInput(place, f"more than {MAX_VALUES} values", "a contract's settings")


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
