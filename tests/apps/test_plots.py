"""Pictures are drawn, without warnings, from any history."""

from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from tacit import HintClassifier
from tacit.datasets import make_batches, make_four_moons
from tacit.plots import Answer, DemoPicture, draw_demo, plot_history
from tacit.result import History, Iteration


@pytest.fixture(scope="module")
def fitted():
    X, y = make_four_moons(60, layout="grid", random_state=0)
    known = make_batches(y, n_batches=6, size=10, random_state=0)
    return X, y, HintClassifier(gamma=8.0, random_state=0).fit(X, hints=known)


def history_of(*objectives):
    rows = (
        Iteration(i // 3, "start", i % 3, value, 0.0, 0.0, 1.0, 0, np.nan, 0.1 * i)
        for i, value in enumerate(objectives)
    )
    return History(list(rows))


@pytest.mark.parametrize("objectives", [(), (1.0,), (3.0, 2.0, 1.0, 2.0, 1.5)])
def test_plot_history(objectives):
    from matplotlib import pyplot as plt

    figure = plot_history(history_of(*objectives))
    figure.savefig(io.BytesIO())
    drawn = sum(len(line.get_xdata()) for line in figure.axes[0].lines if line.get_lw() > 1)
    assert drawn == len(objectives)
    plt.close(figure)


def test_plot_history_of_an_estimator(fitted):
    from matplotlib import pyplot as plt

    figure = fitted[2].plot_history()
    assert len(figure.axes) == 4
    figure.savefig(io.BytesIO())
    plt.close(figure)
    _, axes = plt.subplots(3)
    with pytest.raises(ValueError, match="3 entries; four are needed"):
        plot_history(fitted[2].history_, axes)
    plt.close("all")


def picture(X, y, answer, labels, decide=None, history=None):
    groups = [np.arange(5), np.arange(3, 9)]
    lower = np.array([[0, 1, 0, 0], [2, 0, 0, 1]])
    decide = decide or (lambda Z: np.zeros(len(Z), int))
    return DemoPicture(
        title="A title.",
        X=X,
        truth=y,
        groups=groups,
        lower=lower,
        upper=lower + 3,
        answer=answer,
        rival=Answer("Another", labels, decide),
        history=history or history_of(3.0, 2.0, 1.0),
        marks={"other": 2.5},
    )


@pytest.mark.parametrize("stretch", [(1.0, 1.0), (4.0, 1.0)])
def test_demo_picture(fitted, stretch):
    X, y, clf = fitted
    answer = Answer("Ours", clf.solution_.labels, lambda Z: clf.predict(Z / stretch))
    drawn = draw_demo(picture(X * stretch, y, answer, (y + 1) % 4, history=clf.history_))
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png")
    assert len(buffer.getvalue()) > 20_000
    texts = [t.get_text() for t in drawn.texts] + [a.get_title("left") for a in drawn.axes]
    assert {"A title.", "Ours", "Another"} <= set(texts)


@pytest.mark.parametrize("errors", [0, 1, 60])
def test_demo_picture_rings_errors(fitted, errors):
    X, y, _ = fitted
    labels = y.copy()
    labels[:errors] = (labels[:errors] + 1) % 4
    answer = Answer("Ours", labels, lambda Z: np.zeros(len(Z), int))
    drawn = draw_demo(picture(X, y, answer, y))
    ours = next(a for a in drawn.axes if a.get_title("left") == "Ours")
    rings = [c for c in ours.collections if getattr(c, "get_sizes", None) and len(c.get_sizes())]
    assert len(rings[-1].get_offsets()) == errors


def test_demo_picture_is_not_known_to_pyplot(fitted):
    from matplotlib import pyplot as plt

    X, y, _ = fitted
    plt.close("all")
    draw_demo(picture(X, y, Answer("Ours", y, lambda Z: np.zeros(len(Z), int)), y))
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("number", "panels"), [(1, 3), (2, 3), (3, 9)])
def test_figures_of_extensions(number, panels):
    from matplotlib import pyplot as plt

    from tacit.convex import plot

    figure = plot.draw_figure(number)
    assert len(figure.axes) == panels
    # The two faces of every panel, in black.
    assert [len(ax.lines) for ax in figure.axes] == [2] * panels
    figure.savefig(io.BytesIO(), dpi=30)
    plt.close(figure)


def test_extension_in_a_box_is_drawn_inside_it():
    from matplotlib import pyplot as plt

    from tacit.convex import extension, plot

    figure = plot.draw_extension(extension("hinge", "l1", box=(-1.0, 0.5)), title="hinge")
    (ax,) = figure.axes
    assert [ax.lines[0].get_data_3d()[0][k] for k in (0, -1)] == [-1.0, 0.5]
    assert ax.get_title() == "hinge"
    with pytest.raises(ValueError, match="number=4; the paper has figures 1, 2 and 3"):
        plot.draw_figure(4)
    plt.close(figure)
