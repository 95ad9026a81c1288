"""What mkdocs makes itself: pages from files of the root, and tables from the library's lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that stand in the root."""
    for source, target in PAGES.items():
        text = LINK.sub(_moved, (ROOT / source).read_text(encoding="utf-8"))
        files.append(File.generated(config, target, content=text))
    return files


def _moved(link: re.Match[str]) -> str:
    """Turn a link between files of the repository into one between pages, or into plain text."""
    text, path, anchor = link[1], link[2], link[3] or ""
    page = PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    return f"[{text}]({page}{anchor})" if page else f"`{path}`"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the tables: a line `<!-- table: oracles -->` becomes the list of oracles."""
    return re.sub(r"^<!-- table: (\w+) -->$", lambda m: TABLES[m[1]](), markdown, flags=re.M)


def _oracles() -> str:
    from tacit.oracles import ORACLES, PREFERENCE

    order = [*PREFERENCE, *(o for o in ORACLES.values() if o not in PREFERENCE)]
    rows = [(f"`{o.name}`", _first_sentence(o), o.summary) for o in order]
    return _table(("oracle", "what it does", "accepts"), rows)


def _losses() -> str:
    from tacit.losses import LOSSES

    rows = [
        (f"`{name}`", _first_sentence(loss), "yes" if loss.probabilistic else "no")
        for name, loss in LOSSES.items()
    ]
    return _table(("loss", "what it is", "probabilities"), rows)


TABLES = {"oracles": _oracles, "losses": _losses}


def _first_sentence(cls: type) -> str:
    """Return the first line of a docstring, up to its formula if it has one."""
    line = (cls.__doc__ or "").strip().splitlines()[0]
    return line.split(", :math:")[0].rstrip(".")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))
