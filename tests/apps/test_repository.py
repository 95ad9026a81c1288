"""The repository keeps its own rules: layers, names, light imports, pages that are true."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tacit"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# Lowest first. A module may import its own entry and those of lower layers; entries of one layer do
# not know each other.
LAYERS = (
    {"exceptions", "backends"},
    {"result"},
    {"losses", "hints", "features", "linalg", "plots"},
    {"problem", "oracles", "datasets"},
    {"convex"},
    {"solvers", "structured", "neadmm"},
    {"estimators"},
    {"persistence", "model_selection"},
    {"vision", "experiments"},
    {"cli", "web"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# The package itself gathers the names of all up to here, for those above and for users.
LEVEL["__init__"] = LEVEL["persistence"]
LEVEL["__main__"] = len(LAYERS)
# The question "can these hints all be true?" belongs to hints and its answer to oracles. Allowed
# inside functions only.
UPWARD = {("hints/_check.py", "oracles")}
# What `import tacit` must not cost.
HEAVY = ("torch", "pandas", "dask", "skimage", "matplotlib", "typer", "rich", "starlette")
LONGEST_FILE = 500


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def entry_of(module: str) -> str:
    """First name below tacit: the entry of LAYERS, or __init__ for the package itself."""
    name = module.removeprefix("tacit").removeprefix(".").split(".")[0]
    is_module = (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()
    return name if name and is_module else "__init__"


def imports(tree: ast.Module, path: Path) -> Iterator[tuple[str, bool]]:
    """Every entry of the package that a file imports, and whether inside a function."""
    inside = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: relative import"
            modules = [node.module or ""]
            if node.module == "tacit":
                modules = [f"tacit.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            if module == "tacit" or module.startswith("tacit."):
                yield entry_of(module), id(node) in inside


def layer_violations(path: Path, tree: ast.AST) -> list[str]:
    name = name_of(path)
    own = name.split("/")[0].removesuffix(".py")
    if own not in LEVEL:
        return [f"{name} is in no layer; add {own!r} to LAYERS"]
    return [
        f"{name} imports tacit.{entry}"
        for entry, inside in imports(tree, path)
        if entry != own
        and LEVEL.get(entry, len(LAYERS)) >= LEVEL[own] + (own == "__init__")
        and not (inside and (name, entry) in UPWARD)
    ]


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_layer(path):
    assert layer_violations(path, tree_of(path)) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("losses/new.py", "from tacit.hints import Not"),
        ("hints/_check.py", "from tacit.oracles import solve"),  # the exception, not in a function
        ("problem.py", "def f():\n    from tacit import oracles"),
        ("oracles/new.py", "import tacit.problem"),
        ("solvers/new.py", "from tacit.estimators import HintClassifier"),
        ("estimators/new.py", "from tacit import solve"),  # the package itself is above it
        ("__init__.py", "from tacit.cli import main"),
        ("unheard_of.py", ""),
    ],
)
def test_layer_rule_can_fail(name, code):
    assert layer_violations(PACKAGE / name, ast.parse(code))


# Dependencies import some of these for themselves where they are installed; so hide them.
HIDDEN_IMPORT = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import tacit
print([name for name in {HEAVY} if name in sys.modules])
"""


def test_importing_the_package_needs_nothing_heavy():
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN_IMPORT], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def public_names(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
            return list(ast.literal_eval(node.value))
    return None


def sort_key(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as ruff sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if p.name == "__init__.py" or p.name[0] != "_"], ids=name_of
)
def test_public_names_are_listed_in_order(path):
    names = public_names(tree_of(path))
    assert names is not None, "no __all__"
    assert names == sorted(set(names), key=sort_key)


def test_public_names_exist():
    import tacit

    assert [name for name in tacit.__all__ if not hasattr(tacit, name)] == []


def test_types_are_packaged():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "py.typed" in project["tool"]["setuptools"]["package-data"]["tacit"]
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_source_is_finished_and_quiet(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"raise NotImplementedError|TODO|FIXME", text) == []
    calls = [n.func for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
    printed = any(isinstance(f, ast.Name) and f.id == "print" for f in calls)
    assert not printed or name_of(path).startswith("cli/")


def test_no_file_is_too_long():
    folders = ("src", "tests", "benchmarks", "examples", "scripts")
    files = [p for folder in folders for p in (ROOT / folder).rglob("*.py")]
    lines = {p.relative_to(ROOT).as_posix(): p.read_bytes().count(b"\n") for p in files}
    assert {name: n for name, n in lines.items() if n > LONGEST_FILE} == {}


def load_script(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_index_of_equations_is_fresh():
    equations = load_script("equations")
    page = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    assert page == equations.render(equations.collect()), "run: python scripts/equations.py"


def test_equation_lines_are_read():
    equations = load_script("equations")
    line = "Equation: (9), (10) in 004, (1) in 000, corrected: a, b"
    found = [(e.paper, e.number, e.note) for e in equations.read_line(line, "f.py", "g")]
    note = "corrected: a, b"
    assert found == [("004", "(9)", note), ("004", "(10)", note), ("000", "(1)", note)]


@pytest.mark.parametrize(
    "line",
    [
        "Equation: 7 in 000",
        "Equation: (7) in 017",
        "Equation: (7)",
        "Equation: (7) in 000, also (8) in 000",
    ],
)
def test_equation_lines_that_cannot_be_read_are_refused(line):
    with pytest.raises(SystemExit, match=r"f\.py: .* cannot be read; expected the form"):
        load_script("equations").read_line(line, "f.py", "g")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def test_readme_opens_with_demo_and_test():
    first = re.search(
        r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S
    )
    commands = [line.split("#")[0].strip() for line in first[1].splitlines()]
    assert commands == ["make demo", "make test"]


def test_readme_example_runs():
    from tacit import Problem

    code = blocks("README.md", "python")[0]
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    clf, known, X = names["clf"], names["known"], names["X"]
    labels = clf.transduction_
    assert clf.converged_
    assert (labels == names["y"]).mean() > 0.95
    assert [part.kind for part in known] == ["count", "labels", "not"]
    program = Problem(X, known, classes=list(clf.classes_)).program
    assert program.violation(labels) == 0


def test_readme_hints_file_is_valid(tmp_path):
    from tacit import hints

    path = tmp_path / "hints.yaml"
    path.write_text(blocks("README.md", "yaml")[0], encoding="utf-8")
    assert hints.check(hints.load(path), n=10).feasible


def test_readme_names_every_hint():
    from tacit.hints import KINDS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [k.__name__ for k in KINDS.values() if f"`{k.__name__}(" not in text] == []


def test_start_page_runs(capsys):
    code = "\n".join(blocks("docs/start.md", "python"))
    names: dict = {}
    exec(compile(code, "docs/start.md", "exec"), names)
    assert names["search"].best_params_["C"] in {1.0, 10.0}
    assert capsys.readouterr().out == "A labeling that satisfies all hints exists.\n"


def test_map_page_runs():
    """Every line that says what comes out says so rightly."""
    names: dict = {}
    said = 0
    for block in blocks("docs/map.md", "python"):
        exec(compile(block, "docs/map.md", "exec"), names)
        for line, result in re.findall(r"^([a-z].*?)  # (.*)$", block, re.M):
            if " = " not in line.split("(")[0]:
                assert repr(eval(line, names)) == result, line
                said += 1
    assert said >= 15


PAGES = [p.relative_to(ROOT).as_posix() for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_included_files_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    files = [(ROOT / page).parent / link for link in links if link and "://" not in link]
    files += [ROOT / name for name in re.findall(r'--8<-- "([^"]+)"', text)]
    generated = {ROOT / "docs" / name for name in ("index.md", "contributing.md", "changelog.md")}
    assert [f for f in files if not f.exists() and f not in generated] == []


@pytest.mark.parametrize("page", [p for p in PAGES if p.startswith("docs/add-a")])
def test_walk_throughs_include_the_real_file(page):
    assert re.findall(r'^--8<-- "src/tacit/\w+/\w+\.py"$', (ROOT / page).read_text(), re.M)


@pytest.mark.parametrize("page", PAGES)
def test_source_files_that_pages_name_exist(page):
    """Architecture and walk-throughs name files below src/tacit; they must not drift."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:\w+/)+\w+\.py)(?=[`:])", text)
    missing = [n for n in named if not any((r / n).exists() for r in (ROOT, PACKAGE, ROOT / "src"))]
    assert missing == []
