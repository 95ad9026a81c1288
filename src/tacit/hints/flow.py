"""Labels that a flow through a network allows, and what the flow costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import ClassCodes, plain
from tacit.hints._network import Network
from tacit.hints._program import LabelProgram
from tacit.hints.base import Hint

__all__ = ["Flow"]


class Flow(Hint):
    r"""The labels are a flow; they cost what the cheapest flow that agrees with them costs.

    .. math:: S(y) = \min_x \langle cost, x \rangle \text{ over whole flows } x \text{ with }
        x_a = [y_i = c] \text{ for each tie } (a, i, c), \qquad
        S(y) = \infty \text{ if there is none}

    Parameters
    ----------
    network : Network
        Nodes, arcs and which arcs are labels.

    Examples
    --------
    Three rows, of which at most two have class 1, the second at a cost of 5:

    >>> import numpy as np
    >>> from tacit import hints, oracles
    >>> arcs = [[0, 1], [0, 1], [0, 1], [1, 0], [1, 0]]
    >>> cost = [0, 0, 0, 0, 5.0]
    >>> net = hints.Network(2, arcs, cost=cost, ties=([0, 1, 2], [0, 1, 2], 1))
    >>> gain = np.array([[0.0, -4.0], [0.0, -6.0], [0.0, -2.0]])
    >>> oracles.solve(gain, hints.Flow(net)).labels
    array([0, 1, 0], dtype=int32)

    Notes
    -----
    The flow supervisor of 000.
    """

    kind = "flow"
    keys = Network.keys

    def __init__(self, network: Network) -> None:
        if not isinstance(network, Network):
            raise TypeError(f"Flow: expected a hints.Network, got {type(network).__name__}.")
        self.network = network

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        return LabelProgram(n, len(classes), flow=self.network.compiled(n, classes))

    def rows(self) -> npt.NDArray[np.intp]:  # noqa: D102
        return np.unique(self.network.tie_row)

    def names(self) -> list[Any]:  # noqa: D102
        return list(dict.fromkeys(plain(name) for name in self.network.classes))

    def length(self) -> int | None:  # noqa: D102
        return None

    def restrict(self, rows: Any, n: int | None = None) -> Flow:
        """Return the same network where arcs of rows left out are free, within their bounds.

        They may carry whatever is cheapest, so a labeling costs as much or less than before.
        """
        row_map = self._row_map(rows, n)
        keep = row_map.keep(self.network.tie_row)
        return Flow(self.network.with_rows(keep, row_map.new[self.network.tie_row[keep]]))

    def split(self) -> Iterator[Hint]:  # noqa: D102
        yield self  # no part of a network says what the whole does

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        net = self.network
        return (
            f"the labels of {len(self.rows())} rows are a flow in the network of {net.n_nodes} "
            f"nodes and {len(net.arcs)} arcs"
        )

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return self.network.to_dict()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Flow:  # noqa: D102
        return cls(Network.from_dict(data))

    def __repr__(self) -> str:
        return f"Flow({self.network!r})"
