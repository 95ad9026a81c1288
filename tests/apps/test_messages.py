"""What users read when labels, classes or parameters are wrong names the thing that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from tacit import HintClassifier, HintKMeans, InfeasibleHints, load
from tacit import hints as H
from tacit.cli import app
from tacit.features import APPROXIMATIONS, Kernel

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
        model.fit(X, [1, 0, None, None, None, 0], hints=H.Labels([0], 0))
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


# --- parameters -----------------------------------------------------------------------------------

BOTH = [
    ({"random_state": "a"}, "random_state='a'; expected a whole number, 0 or more"),
    ({"random_state": -1}, "random_state=-1; expected a whole number"),
    ({"random_state": 1.5}, "random_state=1.5; expected a whole number"),
    ({"tol": "x"}, "tol='x'; expected a positive number"),
    ({"time_limit": "x"}, "time_limit='x'; expected a positive number of seconds"),
    ({"coef0": "x"}, "coef0='x'; expected a number"),
    ({"degree": 2.5, "kernel": "poly"}, "degree=2.5; expected a whole number, 0 or more"),
    ({"degree": -2, "kernel": "poly"}, "degree=-2; expected a whole number, 0 or more"),
    ({"n_init": True}, "n_init=True; expected a positive integer or 'auto'"),
    ({"max_iter": True}, "max_iter=True; expected an integer, at least 1"),
    ({"tol": True}, "tol=True; expected a positive number"),
    ({"time_limit": True}, "time_limit=True; expected a positive number of seconds"),
    ({"gamma": True, "kernel": "rbf"}, "gamma=True; expected a positive number, 'scale' or"),
    ({"gamma": "x", "kernel": "rbf"}, "gamma='x'; expected a positive number, 'scale' or"),
    ({"degree": True, "kernel": "poly"}, "degree=True; expected a whole number, 0 or more"),
    ({"coef0": True}, "coef0=True; expected a number"),
    ({"callback": 3}, "callback=3; expected a function"),
    ({"classes": 3}, "classes=3; expected a list of class names"),
    ({"verbose": "x"}, "verbose='x'; expected a whole number"),
]
CLASSIFIER = [
    ({"fit_intercept": "x"}, "fit_intercept='x'; expected True or False"),
    ({"C": True}, "C=True; expected a positive number"),
    ({"nu": True}, "nu=True; expected a positive number"),
    ({"label_weight": True}, "label_weight=True; expected a positive number"),
    ({"n_components": True}, "n_components=True; expected an integer, at least 1, or None"),
    ({"n_reheats": True}, "n_reheats=True; expected 0, a positive integer or 'auto'"),
    ({"polish": "x"}, "polish='x'; expected True or False"),
]
CLUSTERS = [({"n_clusters": True}, "n_clusters=True; expected a positive integer or None")]


@pytest.mark.parametrize(
    ("model", "parameters", "words"),
    [
        *[(HintClassifier, *case) for case in BOTH + CLASSIFIER],
        *[(HintKMeans, *case) for case in BOTH + CLUSTERS],
    ],
)
def test_wrong_parameters_are_named(model, parameters, words):
    with pytest.raises(ValueError, match=f"^{words}") as error:
        model(**parameters).fit(X, Y)
    sentence(error)


@pytest.mark.parametrize("model", [HintClassifier, HintKMeans])
def test_weights_that_are_no_numbers(model):
    with pytest.raises(ValueError, match=r"^sample_weight must hold numbers, got 'a'\.$"):
        model().fit(X, Y, sample_weight=["a"] * 6)


@pytest.mark.parametrize("kernel", ["linear", "precomputed", lambda A, B: A @ B.T])
def test_gamma_is_not_computed_where_it_is_of_no_use(kernel):
    kernel = Kernel.read(kernel, X * 1e160)
    assert kernel.gamma == 1.0


@pytest.mark.parametrize("model", [HintClassifier, HintKMeans])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_data_whose_squares_overflow(model, kernel, form):
    big = X.copy()
    big[2, 1] = -3e160
    with pytest.raises(ValueError, match=r"^X holds numbers as large as 3e\+160, whose squares"):
        model(kernel=kernel).fit(form(big), Y)
    labels = []
    for scale in (1.0, 1e100):  # the same problem in other units
        units = {"nu": scale**2} if model is HintClassifier else {}
        clf = model(kernel="linear", random_state=0, **units).fit(form(X * scale), Y)
        labels.append(clf.predict(form(X * scale)))
    np.testing.assert_array_equal(*labels)


# --- approximations -------------------------------------------------------------------------------


def test_every_approximation_is_offered(tmp_path):
    X_big = np.random.default_rng(0).normal(size=(20, 2))
    np.savez(tmp_path / "data.npz", X=X_big, y=np.arange(20) % 2)
    listed = CliRunner().invoke(app, ["list", "approximations"]).stdout
    page = (Path(__file__).resolve().parents[2] / "docs" / "choose.md").read_text()
    for name in APPROXIMATIONS:
        assert name in listed
        assert f'"{name}"' in page
        options = ["--approximation", name, "-o", str(tmp_path / name), "--max-iter", "50"]
        result = CliRunner().invoke(app, ["fit", str(tmp_path / "data.npz"), *options])
        assert result.exit_code in {0, 4}, result.stderr
        assert load(tmp_path / name).get_params()["approximation"] == name
    assert APPROXIMATIONS[0] == "lowrank"
