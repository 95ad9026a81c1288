"""What users read when labels, classes or parameters are wrong names the thing that is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit import HintClassifier, HintKMeans, InfeasibleHints
from tacit import hints as H
from tacit.cli import app

X = np.random.default_rng(0).normal(size=(6, 2))
Y = [0, 1] * 3


def sentence(error):
    """Return the message, which must be one line."""
    text = str(error.value)
    assert "\n" not in text
    return text


# --- y is called y --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [HintClassifier(), HintKMeans()], ids=lambda m: type(m).__name__)
def test_labels_in_y_are_called_y(model):
    with pytest.raises(InfeasibleHints) as error:
        model.fit(X, [1, 0, -1, -1, -1, 0], hints=H.Labels([0], 0))
    assert sentence(error) == "row 0 has label 0 but y says 1."
    with pytest.raises(ValueError, match=r"^y names the class 'B', which is not one of 'a', 'b'"):
        type(model)(classes=["a", "b"]).fit(X, ["a", "b", "B", "", "", ""])


def test_y_keeps_its_name_through_links_and_parts():
    known = H.OneOf([2], [[1, 2]]) + H.OneOf([2], [[0, 2]])
    with pytest.raises(InfeasibleHints) as error:
        HintClassifier(classes=[0, 1, 2]).fit(X, [0, 1, 0, -1, -1, -1], hints=known)
    assert sentence(error) == "row 2 has label 0 but OneOf allows only 1, 2."
    part = H.Labels([4, 2], ["a", "b"]).called("y").restrict([2, 3], 6)
    assert (part.who, part.rows().tolist()) == ("y", [0])
    assert part == H.Labels([0], "b")
    assert H.Labels(np.eye(4, dtype=bool)[2], "a").called("y").length() == 4


# --- classes that are too few ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classes", "y", "words"),
    [
        (["yes"], ["yes", "no"] * 3, "classes names only one class, 'yes'; a classifier needs at "
            "least two. y and the hints name 'no' too. Give every class in classes=[...]."),
        (["yes"], ["yes", ""] * 3, "classes names only one class, 'yes'; a classifier needs at "
            "least two. Give every class in classes=[...]."),
        (None, ["yes", ""] * 3, "y and the hints name only one class, 'yes'; a classifier needs "
            "at least two. Give classes=[...] if there are more."),
    ],
)  # fmt: skip
def test_too_few_classes(classes, y, words):
    with pytest.raises(ValueError, match=r"only one class") as error:
        HintClassifier(classes=classes).fit(X, y)
    assert sentence(error) == words


def test_the_command_line_names_its_own_option(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("x,label\n" + "".join(f"{i},{'yes' if i % 2 else 'no'}\n" for i in range(6)))
    options = ["--label-column", "label", "-o", str(tmp_path / "m")]
    result = CliRunner().invoke(app, ["fit", str(data), *options, "--classes", "yes"])
    assert result.exit_code == 1
    assert "Give every class in --classes A,B." in result.stderr
    assert "classes=" not in result.stderr


# --- one message, not two -------------------------------------------------------------------------


def test_contradictions_are_not_preceded_by_a_warning():
    # Warnings are errors in tests.
    with pytest.raises(InfeasibleHints, match="row 0 has no label"):
        HintClassifier().fit(X, hints=H.Cost(np.full((6, 2), np.inf)))
