"""Experiment ssl: its cells, its one rule for all sets, and its summary worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import HintClassifier
from tacit.exceptions import MissingData
from tacit.experiments import load
from tacit.experiments.weak_supervision import _ssl_methods
from tacit.experiments.weak_supervision._ssl_blend import (
    Candidate,
    average,
    cheapest,
    try_settings,
    weigh,
)
from tacit.experiments.weak_supervision._ssl_methods import Task, measure
from tacit.experiments.weak_supervision._ssl_report import (
    accuracy_table,
    choice_table,
    summarise,
    targets_of,
)
from tacit.hints import Labels
from tacit.model_selection import HintFolds

CELL = {"set": "bci", "labels": 10, "kernel": "linear", "split": 3}


def made(**change):
    try:
        return Task.make(CELL | change)
    except MissingData as error:
        pytest.skip(str(error))


def test_every_split_by_every_method_and_the_relaxation_last():
    cells = load("ssl").cells(False)
    assert len(cells) == 3 * 5 * 2 * 2 * 12 + 20
    assert {cell["method"] for cell in cells[-20:]} == {"sdp"}
    assert {cell["split"] for cell in cells[-20:]} == {0}
    assert len(load("ssl", sdp_splits=12).cells(False)) == 4 * 240
    assert len(load("ssl", sdp_splits=0).cells(False)) == 720


def test_rows_are_centred_shuffled_and_of_unit_norm():
    task = made()
    assert list(task.inputs) == ["linear", "linear, intercept"]
    np.testing.assert_allclose(np.linalg.norm(task.inputs["linear"], axis=1), 1.0)
    assert (task.part != None).sum() == 10  # noqa: E711
    assert task.part[task.rows].tolist() == task.y[task.rows].tolist()
    other = made(split=4)
    assert not np.array_equal(task.y, other.y)
    assert sorted(task.y) == sorted(other.y)


@pytest.mark.parametrize(("width", "sigma"), [("narrow", 0.5477), ("wide", 2**0.5)])
def test_the_kernel_matrix_is_centred(width, sigma):
    X, K = made().inputs["linear"], made(kernel="rbf").inputs[width]
    np.testing.assert_allclose(K.mean(axis=0), 0.0, atol=1e-12)
    square = ((X[:5, None] - X[None]) ** 2).sum(axis=2)
    apart = np.exp(-square / (2 * sigma**2)) - K[:5]  # means: a column plus a row
    np.testing.assert_allclose(apart - apart[:1] - apart[:, :1] + apart[0, 0], 0.0, atol=1e-10)


def test_an_intercept_is_as_strong_as_the_strongest_mode():
    """A constant is added to the kernel: one mode more, of the top eigenvalue there was."""
    for kernel, width in (("linear", "linear"), ("rbf", "narrow")):
        inputs = made(kernel=kernel).inputs
        plain, more = inputs[width], inputs[width + ", intercept"]
        if kernel == "linear":
            plain, more = plain @ plain.T, more @ more.T
        np.testing.assert_allclose(more - plain, (more - plain)[0, 0], atol=1e-10)
        top = np.linalg.eigvalsh(plain)[-1]
        assert len(plain) * (more - plain)[0, 0] == pytest.approx(top, rel=1e-8)
    assert list(inputs) == ["narrow", "wide", "narrow, intercept"]


@pytest.mark.parametrize("method", ["tacit", "inductive", "svm"])
def test_true_labels_of_other_rows_change_nothing(monkeypatch, method):
    """All labels but the ten known ones are turned; the answer stays, and so its errors turn."""
    made()
    few = _ssl_methods.SETTINGS | {"joint": _ssl_methods.SETTINGS["joint"][1::3]}  # quicker
    monkeypatch.setattr(_ssl_methods, "SETTINGS", few)
    before = measure(CELL | {"method": method})
    load_ssl = _ssl_methods.load_ssl

    def turned(name):
        data = load_ssl(name)
        y = -data.y
        y[data.splits[10][3]] *= -1
        return type(data)(data.name, data.X, y, data.splits)

    monkeypatch.setattr(_ssl_methods, "load_ssl", turned)
    after = measure(CELL | {"method": method})
    assert after["share"] == before["share"]
    assert after["chosen"] == before["chosen"]
    assert after["accuracy_unlabelled"] == pytest.approx(100 - before["accuracy_unlabelled"])
    assert before["accuracy"] == pytest.approx(
        (390 * before["accuracy_unlabelled"] + 10 * 100) / 400
    )


# --- Averages in place of one choice --------------------------------------------------------------


class Told(HintClassifier):
    """Learns nothing; class "b" is the likelier the more labels it is given, and C."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y=None, *, hints=None, sample_weight=None):
        (labels,) = (hint for hint in hints if isinstance(hint, Labels))
        self.known = labels.rows()
        self.seen.append((X[0, 0], self.known.tolist()))
        return self

    def predict_proba(self, X):
        b = len(self.known) / 10 * self.C
        return np.tile([1 - b, b], (len(X), 1))


PART = np.array(["a", "b", None, "b", "a", None], object)


def tried(*settings):
    inputs = {"one": np.full((6, 1), 1.0), "two": np.full((6, 1), 2.0)}
    inputs["one"][:, 0] += np.arange(6) / 10  # tells rows, and so folds, apart
    Told.seen.clear()
    return list(try_settings(settings, inputs, HintFolds(PART, None, 6, ["a", "b"]), 2))


def test_probabilities_of_all_fits_are_averaged_only_where_there_are_local_minima():
    """Four labels give .4 C, the two folds .2 C each: on average .8 C / 3."""
    for C in (1.0, 2.0):
        joint, supervised = tried(
            ("one", Told(C=C, solver="admm")), ("one", Told(C=C, solver="inductive"))
        )
        np.testing.assert_allclose(joint.P, np.tile([1 - 0.8 * C / 3, 0.8 * C / 3], (6, 1)))
        np.testing.assert_allclose(supervised.P, np.tile([1 - 0.4 * C, 0.4 * C], (6, 1)))
        np.testing.assert_array_equal(joint.each, supervised.each)


def test_likelihood_of_all_hidden_labels():
    """With even odds each of the four costs log 2, whatever the temperature."""
    (even,) = tried(("one", Told(C=2.5)))
    np.testing.assert_allclose(even.each, -np.log(2) * np.ones(4))


def test_all_widths_see_the_same_folds():
    tried(("one", Told()), ("two", Told()))
    one = [known for x, known in Told.seen if x == 1.0]
    assert one == [known for x, known in Told.seen if x == 2.0]
    assert one[0] == [0, 1, 3, 4]
    assert sorted(one[1] + one[2]) == [0, 1, 3, 4]


def candidate(each, b=0.5, **settings):
    each = np.asarray(each, float)
    return Candidate(HintClassifier(**settings), "", each, np.array([[1 - b, b]]))


def weights(*found):
    return weigh(list(found), 4000)


def test_labels_that_agree_weigh_settings_by_their_likelihood():
    """Ten labels, each for the first: odds of 9 to 1, however they count."""
    one, other = candidate(np.zeros(10)), candidate(np.full(10, -np.log(9) / 10))
    np.testing.assert_allclose(weights(one, other), [0.9, 0.1])
    P, best = average([other, candidate(np.zeros(10), 0.9)], 10)
    np.testing.assert_allclose(P, [[0.14, 0.86]])  # .9 x .9 + .1 x .5
    assert best.P[0, 1] == 0.9


def test_kinds_of_learning_are_equally_likely_beforehand():
    joint, alone = candidate([-1.0, -1.0]), candidate([-1.0, -1.0], solver="inductive")
    np.testing.assert_allclose(weights(joint, joint, joint, alone), [1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_a_single_label_is_trusted_less_than_labels_that_agree():
    """Of two labels one has odds of e^4: u is even on [0, 1], the mean of 1 / (1 + e^(-8 u))."""
    found = weights(candidate([0.0, 0.0]), candidate([-4.0, 0.0]))
    expected = (np.log1p(np.exp(8)) - np.log(2)) / 8
    np.testing.assert_allclose(found, [expected, 1 - expected], atol=0.01)
    assert expected < 1 / (1 + np.exp(-4))


def test_weights_do_not_depend_on_the_order_of_the_labels():
    rng = np.random.default_rng(0)
    each, turn = rng.standard_normal((3, 7)), rng.permutation(7)
    before = weights(*map(candidate, each))
    np.testing.assert_array_equal(weights(*map(candidate, each[:, turn])), before)


def test_labels_keep_what_is_known_and_the_shares():
    """One "a" of four labels: Beta(3, 5) within [.170, .596] at .8: 2 to 5 of ten are "a"."""
    part = np.array(["a", "b", "b", "b", *[None] * 6], object)
    folds = HintFolds(part, None, 10, ["a", "b"])
    likely = np.array([0.1, 0.9, 0.2, 0.2, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05])
    found = cheapest(np.stack([likely, 1 - likely], axis=1), part, folds, 0.8)
    assert found.tolist() == ["a", "b", "b", "b", "a", *["b"] * 5]
    many = cheapest(np.stack([1 - likely, likely], axis=1), part, folds, 0.8)
    assert many.tolist() == ["a", *["b"] * 5, *["a"] * 4]


def row(method, split, accuracy, labels=100, chosen="C=1"):
    place = {"kernel": "linear", "labels": labels, "set": "usps", "split": split}
    figures = {"accuracy": accuracy, "accuracy_unlabelled": accuracy - 1, "cpu_s": 2.0}
    return place | figures | {"method": method, "chosen": chosen, "share": 0.5}


ROWS = [row("tacit", 0, 80.0), row("tacit", 1, 90.0, chosen="C=2"), row("tacit", 2, 85.0)]
ROWS += [row("svm", split, 87.0) for split in range(3)] + [row("sdp", 0, 60.0)]


def test_summary_by_hand():
    (entry,) = summarise(ROWS)
    assert entry["methods"]["tacit"] == pytest.approx(
        {
            "splits": 3,
            "accuracy": 85.0,
            "deviation": (50 / 3) ** 0.5,
            "accuracy_unlabelled": 84.0,
            "cpu_s": 2.0,
        }
    )
    claimed = {"linear": {100: {"usps": [63.44, 72.14, 72.14]}}}
    last = accuracy_table([entry], claimed).splitlines()[-1]
    assert last.startswith("| usps, 100, linear | 63.4 | 72.1 | 72.1 | 85.0 ± 4.1 (84.0, 3 of 12)")
    assert choice_table(ROWS).splitlines()[2:] == ["| C=1 | 2 |", "| C=2 | 1 |"]


def test_targets_by_hand():
    sheet = load("ssl").sheet
    cell, above = targets_of(summarise(ROWS), sheet)
    assert (cell.must, cell.aim, cell.claimed) == (87.0, 89.0, 72.14)
    assert cell.reaches(cell.must) is False
    assert above.value == pytest.approx(-2.0)
    assert above.reaches(above.must) is False


def test_all_cells_have_published_figures_and_targets():
    sheet = load("ssl").sheet
    for cell in load("ssl").cells(False):
        place = cell["kernel"], cell["labels"], cell["set"]
        claimed, lines = (sheet[part] for part in ("claimed", "targets"))
        for key in place:
            claimed, lines = claimed[key], lines[key]
        assert len(claimed) == 3
        assert set(lines) <= {"must", "aim"}
