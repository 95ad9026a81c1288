"""Every loss satisfies every check; a new loss is picked up from the family's list."""

import numpy as np
import pytest

from checks.losses import CHECKS, KINDS
from tacit.losses import LOSSES, Loss, get_loss

EXAMPLES = [loss for member in LOSSES.values() for loss in member.examples()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.library}-{kind.dtype}")
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("loss", EXAMPLES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_loss(check, loss, n_classes, kind):
    check(loss, n_classes, kind)


def test_every_member_has_examples():
    for member in LOSSES.values():
        assert member.examples()
        assert all(type(loss) is member for loss in member.examples())


def test_get_loss_by_name_and_by_object():
    for name, member in LOSSES.items():
        loss = get_loss(name)
        assert isinstance(loss, Loss)
        assert type(loss) is member
        assert get_loss(loss) is loss


def test_get_loss_names_the_choices():
    with pytest.raises(ValueError, match=r"loss='hing' is not known; choose one of .*hinge"):
        get_loss("hing")


@pytest.mark.parametrize("loss", EXAMPLES, ids=lambda loss: loss.name)
def test_probabilities_are_refused_or_given(loss):
    scores = np.zeros((2, 3))
    if loss.probabilistic:
        np.testing.assert_allclose(loss.predict_proba(scores), 1 / 3)
    else:
        with pytest.raises(AttributeError, match=f"{loss.name}.*no probabilities"):
            loss.predict_proba(scores)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_a_prox_that_cannot_converge_says_so(name):
    V = np.array([[0.0, np.nan, 1.0]])
    with pytest.raises(RuntimeError, match="did not converge; are the scores"):
        get_loss(name).prox(V, 1.0, np.array([0]))
