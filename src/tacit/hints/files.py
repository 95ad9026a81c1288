"""Hints as plain data and as YAML or JSON files with a version field."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

from tacit.exceptions import DamagedFile
from tacit.hints._classes import check_kinds
from tacit.hints._text import RepeatedKey, read_json, read_yaml
from tacit.hints.base import Hint
from tacit.hints.combine import Hints

__all__ = ["KINDS", "from_dict", "load", "read_hint", "save", "to_dict"]

VERSION = 1
KINDS: dict[str, type[Hint]] = {}
"""Hint classes by their name in files; filled by the package's `__init__`."""


def to_dict(hint: Hint) -> dict[str, Any]:
    """Hints as plain data: ``{"tacit_hints": 1, "hints": [{"kind": ..., ...}, ...]}``."""
    return {"tacit_hints": VERSION} | Hints([hint]).to_dict()


def from_dict(data: Any) -> Hints:
    """Undo `to_dict`; unknown keys and kinds are refused with the nearest known one."""
    if not isinstance(data, dict) or "tacit_hints" not in data:
        raise ValueError(
            "not a set of hints: expected a mapping with 'tacit_hints: 1' and a list 'hints'."
        )
    if data["tacit_hints"] != VERSION:
        raise ValueError(
            f"hints of version {data['tacit_hints']!r}; this release reads version {VERSION}."
        )
    _check_keys(data, ("tacit_hints", "hints"), "the hints file")
    items = data.get("hints")
    if not isinstance(items, list):
        raise ValueError(f"'hints' must be a list of hints, got {type(items).__name__}.")
    return Hints(read_hint(item, number) for number, item in enumerate(items))


def read_hint(item: Any, number: int = 0) -> Hint:
    """One hint from its mapping."""
    where = f"hint {number}"
    if not isinstance(item, dict) or "kind" not in item:
        raise ValueError(f"{where} must be a mapping with a 'kind', got {item!r:.80}.")
    kind = item["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{where} has the unknown kind {kind!r}.{_nearest(str(kind), KINDS)}")
    rest = {k: v for k, v in item.items() if k != "kind"}
    _check_keys(rest, KINDS[kind].keys, f"{where} ({kind})")
    try:
        hint = KINDS[kind].from_dict(rest)
    except KeyError as missing:
        raise ValueError(f"{where} ({kind}) lacks the key {missing}.") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where} ({kind}): {error}") from error
    hint.origin = f"{where} ({kind})"
    return hint


def _check_keys(data: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in known:
            raise ValueError(f"{where} has the unknown key {key!r}.{_nearest(str(key), known)}")


def _nearest(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    listed = ", ".join(known)
    return f" Did you mean {near[0]!r}?" if near else f" Known are: {listed}."


def save(hint: Hint, path: str | Path) -> None:
    """Write hints to a file; ``.json`` is JSON, ``.yaml`` and ``.yml`` are YAML."""
    path = Path(path)
    data = to_dict(hint)
    if path.suffix == ".json":
        text = json.dumps(data)
    elif path.suffix in {".yaml", ".yml"}:
        import yaml

        text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None)
    else:
        raise ValueError(f"{path}: hints files end in .yaml, .yml or .json.")
    path.write_text(text, encoding="utf-8")


def load(path: str | Path) -> Hints:
    """Read hints from a YAML or JSON file."""
    path = Path(path)
    if path.suffix not in {".json", ".yaml", ".yml"}:
        raise ValueError(f"{path}: hints files end in .yaml, .yml or .json.")
    try:
        text = path.read_text(encoding="utf-8")
        data = read_json(text) if path.suffix == ".json" else read_yaml(text)
    except RepeatedKey as error:
        raise ValueError(f"{path}, {error}") from error
    except ValueError as error:
        raise DamagedFile(f"{path} is not valid {path.suffix[1:].upper()}: {error}") from error
    try:
        known = from_dict(data)
        check_kinds(known.names())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    for hint in known:
        hint.origin = f"{path}: {hint.origin}"
    return known
