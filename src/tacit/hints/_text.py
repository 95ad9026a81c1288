"""The text of hints files: JSON, and YAML that takes for numbers and truth values what looks so."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["RepeatedKey", "read_json", "read_yaml"]

# Strings, and the brackets that open and close objects and lists.
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
COLON = re.compile(r"\s*:")
TRUTH, MERGE = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:merge"
TRUTH_VALUES = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
# YAML 1.1 also takes 1:30 for 90, 010 for 8 and 1_0 for 10.
WHOLE, REAL, TIME = (f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp"))
WHOLE_NUMBERS = re.compile(r"^(?:[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+)$")
REAL_NUMBERS = re.compile(
    r"^(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)


class RepeatedKey(ValueError):
    """A mapping has a key twice: one of the two values would be lost."""

    def __init__(self, key: Any, line: int) -> None:
        super().__init__(f"line {line}: the key {key!r} appears twice in one mapping; keep one.")


def read_json(text: str) -> Any:
    """Read JSON; the error for a key that appears twice names its line."""
    data = json.loads(text)
    _refuse_repeated_keys(text)
    return data


def _refuse_repeated_keys(text: str) -> None:
    """Walk through valid JSON with the keys of all mappings that are open."""
    inside: list[set[str]] = []
    for token in TOKENS.finditer(text):
        if token[0] in "{[":
            inside.append(set())
        elif token[0] in "}]":
            inside.pop()
        elif COLON.match(text, token.end()):
            key = json.loads(token[0])
            if key in inside[-1]:
                raise RepeatedKey(key, text.count("\n", 0, token.start()) + 1)
            inside[-1].add(key)


def read_yaml(text: str) -> Any:
    """Read YAML in which yes, no, on and off, dates, times and numbers like 010 are text."""
    import yaml

    try:
        return yaml.load(text, Loader=_loader())  # a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _loader() -> Any:
    """Return a loader of plain data that guesses no more than it must, and takes no key twice."""
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            seen: set[Any] = set()
            for key_node, _ in node.value:
                if isinstance(key_node, yaml.ScalarNode) and key_node.tag != MERGE:
                    key = self.construct_object(key_node)
                    if key in seen:
                        raise RepeatedKey(key, key_node.start_mark.line + 1)
                    seen.add(key)
            return node

    Loader.yaml_implicit_resolvers = {
        first: [rule for rule in rules if rule[0] not in {TRUTH, WHOLE, REAL, TIME}]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver(TRUTH, TRUTH_VALUES, "tTfF")
    Loader.add_implicit_resolver(WHOLE, WHOLE_NUMBERS, "-+0123456789")
    Loader.add_implicit_resolver(REAL, REAL_NUMBERS, "-+0123456789.")
    return Loader
