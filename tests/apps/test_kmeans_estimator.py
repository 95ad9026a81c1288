"""HintKMeans as a user of scikit-learn's KMeans meets it: what goes in, what is refused, files."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from tacit import (
    Clustering,
    ClusterProblem,
    HintClassifier,
    HintKMeans,
    InfeasibleHints,
    Status,
    hints,
    load,
    save,
    solve,
)
from tacit.cli import ExitCode, app

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(20, 2)) + c for c in ([0, 0], [6, 0], [0, 6])])
NEW = RNG.normal(size=(9, 2)) * 4


def test_what_comes_out():
    model = HintKMeans(3, random_state=0)
    assert model.fit(X) is model
    assert model.labels_.dtype == np.int32
    assert np.array_equal(model.classes_, [0, 1, 2])
    assert np.array_equal(model.transduction_, model.labels_)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(clone(model).fit_predict(X), model.labels_)
    np.testing.assert_array_equal(clone(model).fit_transform(X), model.transform(X))
    assert model.cluster_centers_.shape == (3, 2)
    assert model.objective_ == model.inertia_ == pytest.approx(-model.score(X))
    assert model.converged_
    assert model.n_iter_ == len(model.history_)
    assert isinstance(model.solution_, Clustering)
    assert model.explain_oracle().startswith("uses separable")
    # Another kernel leaves no centres of an earlier fit behind.
    assert not hasattr(model.set_params(kernel="rbf").fit(X), "cluster_centers_")


def test_every_row_is_asked_for_by_name():
    names = np.array(["red", "green", "blue"])
    known = hints.Labels([0, 20], ["red", "green"]) + hints.Count([range(60)], lower={"blue": 15})
    model = HintKMeans(random_state=0).fit(X, hints=known)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    assert np.array_equal(model.transduction_, np.repeat(names, 20))
    assert model.predict(X[[0, 20, 40]]).tolist() == names.tolist()
    asked = model.predict(X[:3], hints.Labels([1], "blue"))
    assert asked.tolist() == ["red", "blue", "red"]


def test_partly_labelled_rows_keep_their_labels():
    y = np.full(60, -1)
    y[[0, 20, 40]] = [2, 0, 1]
    y[1] = 0  # wrong, but said
    model = HintKMeans(random_state=0).fit(X, y)
    assert model.labels_[[0, 1, 20, 40]].tolist() == [2, 0, 0, 1]
    assert np.mean(model.labels_ == np.repeat([2, 0, 1], 20)) > 0.9
    with pytest.raises(InfeasibleHints, match=r"row 0 has label 2 but Not forbids it\."):
        HintKMeans().fit(X, y, hints=hints.Not([0], 2))


def test_frames_sparse_rows_and_pipelines():
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = HintKMeans(3, random_state=0).fit(frame)
    assert np.array_equal(model.labels_, HintKMeans(3, random_state=0).fit(X).labels_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["north", "east"]])
    model.set_output(transform="pandas")
    assert model.transform(frame).columns.tolist() == [f"hintkmeans{c}" for c in range(3)]
    wide = sp.random_array((50, 20_000), density=1e-3, rng=RNG, format="csr")
    fit = HintKMeans(4, random_state=0).fit(wide, hints=hints.Share(0.2, 0.3))
    assert np.bincount(fit.labels_).min() >= 10
    pipe = make_pipeline(StandardScaler(), HintKMeans(3, random_state=0))
    assert len(set(pipe.fit_predict(X))) == 3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bfloat16"])
def test_tensors(kernel, dtype):
    rows = torch.from_numpy(X).round().to(getattr(torch, dtype))
    plain = HintKMeans(3, kernel=kernel, random_state=0).fit(X.round())
    model = HintKMeans(3, kernel=kernel, random_state=0).fit(rows)
    assert np.array_equal(model.labels_, plain.labels_)
    assert np.array_equal(model.predict(rows), model.predict(X.round()))
    assert model.transform(rows).shape == (60, 3)
    problem = ClusterProblem(rows.double().requires_grad_(), n_clusters=3, kernel=kernel)
    assert solve(problem, random_state=0).inertia == pytest.approx(plain.inertia_, rel=1e-6)


def test_a_kernel_set_since_changes_no_prediction():
    K = rbf_kernel(X, gamma=0.1)
    model = HintKMeans(3, kernel="precomputed", random_state=0).fit(K)
    before = model.predict(K)
    assert np.array_equal(model.set_params(kernel="rbf").predict(K), before)


def test_a_callback_and_limits():
    seen = []
    known = hints.Share(0.2, 0.5)
    model = HintKMeans(3, callback=lambda i: seen.append(i) or len(seen) == 4)
    model.fit(X, hints=known)
    assert len(seen) == 4
    assert model.solution_.status is Status.STOPPED
    assert not model.converged_
    assert seen[0].phase == "start"
    short = HintKMeans(3, time_limit=1e-9).fit(X, hints=known)
    assert short.solution_.status is Status.TIME_LIMIT
    assert short.n_iter_ == 1
    few = HintKMeans(3, max_iter=1, random_state=0).fit(X)
    assert few.solution_.status is Status.MAX_ITER


def test_solve_takes_clusters_too():
    problem = ClusterProblem(X, hints.Share(0.3, 0.4), 3, kernel="rbf", gamma=0.1)
    answer = solve(problem, random_state=0)
    assert isinstance(answer, Clustering)
    assert len(answer.run_objectives) == 10
    assert answer.fixed_gap == 0.0
    model = HintKMeans(3, kernel="rbf", gamma=0.1, tol=1e-4, random_state=0)
    model.fit(X, hints=hints.Share(0.3, 0.4))
    assert model.objective_ == pytest.approx(answer.objective)
    with pytest.raises(ValueError, match="solver='admm' is not known; choose one of kmeans"):
        solve(problem, "admm")


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_clusters": 0}, "n_clusters=0; expected a positive integer or None"),
        ({"n_clusters": 61}, "n_samples=60 should be >= n_clusters=61"),
        ({"n_clusters": 3, "classes": ["a", "b"]}, "n_clusters=3 but classes names 2"),
        ({"init": "kmeans"}, "init='kmeans' is not known; choose one of k-means\\+\\+, random"),
        ({"init": np.zeros((3, 3))}, r"init has shape \(3, 3\); expected .* \(8, 2\)"),
        ({"init": np.full((8, 2), np.nan)}, "init contains NaN or infinity"),
        ({"n_init": 0}, "n_init=0; expected a positive integer or 'auto'"),
        ({"max_iter": 0}, "max_iter=0; expected an integer, at least 1"),
        ({"tol": -1.0}, "tol=-1.0; expected a positive number or 0"),
        ({"time_limit": 0}, "time_limit=0; expected a positive number"),
        ({"kernel": "sigmoid"}, "kernel='sigmoid' is not known"),
        ({"kernel": lambda A, B: -A @ B.T}, "not positive semidefinite"),
    ],
)
def test_wrong_parameters(params, words):
    with pytest.raises(ValueError, match=words):
        HintKMeans(**params).fit(X)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"hints": hints.Labels([0], "a")}, "name only one class, 'a'; say how many clusters"),
        ({"hints": hints.Cost(np.zeros((60, 4)))}, "n_clusters=3 but the hints' arrays have 4"),
        ({"y": ["a", "b"] + [""] * 58}, r"n_clusters=3 but y and the hints name 2 .*'a', 'b'"),
        ({"y": [0, 1]}, "X has 60 rows but y has 2"),
        ({"sample_weight": [1.0]}, "sample_weight must hold one number for each of 60 rows"),
        ({"sample_weight": -np.ones(60)}, r"sample_weight\[0\] is -1"),
    ],
)
def test_wrong_data(given, words):
    n_clusters = None if "one class" in words else 3
    with pytest.raises(ValueError, match=words):
        HintKMeans(n_clusters).fit(X, **given)


def test_hints_that_cannot_hold():
    with pytest.raises(TypeError, match=r"hints must be made of .*, got list"):
        HintKMeans(3).fit(X, hints=[1])
    links = hints.MustLink([[0, 1]]) + hints.CannotLink([[0, 1]])
    with pytest.raises(InfeasibleHints, match="0 and 1"):
        HintKMeans(3).fit(X, hints=links)
    with pytest.raises(InfeasibleHints, match="21"):
        HintKMeans(3).fit(X, hints=hints.Count([range(60)], lower=21))
    model = HintKMeans(3, random_state=0).fit(X)
    with pytest.raises(InfeasibleHints, match="row 0 has label 1"):
        model.predict(X, hints.Labels([0], 1) + hints.Not([0], 1))
    with pytest.raises(TypeError, match="got dict"):
        model.predict(X, {})


def test_precomputed_kernels_say_what_they_cannot_do():
    K = rbf_kernel(X)
    model = HintKMeans(3, kernel="precomputed", random_state=0).fit(K)
    for call in (model.transform, model.score):
        with pytest.raises(ValueError, match=r"does not hold the new rows' own k\(x, x\)"):
            call(K)
    assert np.array_equal(model.predict(K), model.labels_)
    with pytest.raises(ValueError, match="init as an array of centres needs rows"):
        HintKMeans(3, kernel="precomputed", init=K[:3]).fit(K)


def test_not_fitted():
    for call in ("predict", "transform", "score"):
        with pytest.raises(NotFittedError):
            getattr(HintKMeans(), call)(X)
    with pytest.raises(NotFittedError):
        HintKMeans().explain_oracle()


# --- files ----------------------------------------------------------------------------------------

SAVED = {
    "plain": {},
    "named": {"classes": ["a", ("b", 1), "c"]},
    "start": {"init": X[:3]},
    "list": {"init": X[:3].tolist()},
    "rbf": {"kernel": "rbf", "gamma": 0.1},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "hinted": {},
}


@pytest.mark.parametrize("case", SAVED)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_files_bring_back_the_same_model(tmp_path, case, sparse):
    rows, new = (sp.csr_array(X), sp.csr_array(NEW)) if sparse else (X, NEW)
    known = hints.Share(0.2, 0.5) if case == "hinted" else None
    parameters = {"n_clusters": 3, "random_state": 0} | SAVED[case]
    model = HintKMeans(**parameters).fit(rows, hints=known)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert type(back) is HintKMeans
    np.testing.assert_array_equal(back.transform(new), model.transform(new))
    assert back.predict(new).tolist() == model.predict(new).tolist()
    bounds = hints.Share(0.3, 0.4)
    assert back.predict(new, bounds).tolist() == model.predict(new, bounds).tolist()
    for name in ("labels_", "transduction_", "classes_"):
        assert getattr(back, name).tolist() == getattr(model, name).tolist()
    for name in ("inertia_", "objective_", "n_iter_", "converged_", "n_features_in_"):
        assert getattr(back, name) == getattr(model, name)
    assert str(back.history_) == str(model.history_)
    assert back.solution_.run_objectives == model.solution_.run_objectives
    assert back.explain_oracle() == model.explain_oracle()
    assert hasattr(back, "cluster_centers_") == hasattr(model, "cluster_centers_")
    assert back.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    again = back.fit(rows, hints=known)
    assert again.inertia_ == model.inertia_


def test_what_needs_pickle_is_refused(tmp_path):
    with pytest.raises(TypeError, match="a kernel function cannot be saved"):
        save(HintKMeans(3, kernel=lambda A, B: A @ B.T).fit(X), tmp_path / "model")
    with pytest.raises(ValueError, match="this HintKMeans is not fitted yet"):
        save(HintKMeans(), tmp_path / "model")
    with pytest.raises(TypeError, match="only HintClassifier and HintKMeans can be saved"):
        save(HintClassifier, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_predicts_clusters(tmp_path):
    frame = pd.DataFrame(X, columns=["east", "north"])
    save(HintKMeans(3, random_state=0).fit(frame), tmp_path / "model")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["predict", str(tmp_path / "model"), str(tmp_path / "rows.csv")]
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == ExitCode.DONE
    assert answer.stdout.splitlines()[0] == "row,label"
    refused = CliRunner().invoke(app, [*arguments, "--proba"])
    assert refused.exit_code != ExitCode.DONE
    assert "which give no probabilities" in refused.stderr
