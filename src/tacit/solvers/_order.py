"""A row order that depends on what the rows are, not on where they stand.

Rows are sorted by a keyed 64-bit hash of their content (features, weight, and what the hints say of
them). Everything random is drawn after that, and sums run in that order, so a shuffled data set
gives the same answer to the last bit, and no order in the file (rows sorted by class, say) can
leak through ties. Rows that agree are told apart by what couples them to others, and by what their
neighbours are coupled to, as far as that goes; what still agrees is interchangeable (or part of a
very regular pattern of links), and one such row at a time is put before the others of its kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import is_torch, to_numpy
from tacit.hints._program import LabelProgram
from tacit.hints._structures import FlowNetwork

__all__ = ["canonical_order", "content_keys"]

Keys = npt.NDArray[np.uint64]
# Entries hashed at a time: as many as a processor's cache holds; on a device, fewer and larger
# parts.
CHUNK, CHUNK_THERE = 500_000, 4_000_000
# How many interchangeable rows are put before the others of their kind; beyond, places decide.
MAX_FIRSTS = 200


def canonical_order(
    X: Any, program: LabelProgram, weights: npt.NDArray[np.float64], seed: int, square: bool
) -> npt.NDArray[np.intp]:
    """Return the order; `square`: X is a kernel matrix, whose columns move with its rows."""
    rng = np.random.default_rng(seed)
    keys = _content(X, rng, square) + _dense(weights[:, None], rng)
    for table in (program.allowed, program.unary):
        if table is not None:
            keys = keys + _dense(table.astype(np.float64), rng)
    kernel = to_numpy(X) if square else None
    return np.argsort(_told_apart(_mix(keys), program, kernel, seed), kind="stable")


def _told_apart(
    keys: Keys, program: LabelProgram, kernel: npt.NDArray[np.floating] | None, seed: int
) -> Keys:
    """Refine keys by those of the rows they are coupled to, until all that can differ do."""
    firsts, kinds = 0, len(np.unique(keys))
    while kinds < len(keys):
        extra = _neighbours(program, keys, np.random.default_rng(seed))
        if kernel is not None:
            extra = extra + _beside(kernel, keys)
        finer = _mix(keys + extra)
        found = len(np.unique(finer))
        if found > kinds:
            keys, kinds = finer, found
            continue
        first = _first_of_many(keys, extra)
        if first is None or firsts == MAX_FIRSTS:
            break
        keys[first] = _mix(~keys[[first]])[0]
        firsts, kinds = firsts + 1, len(np.unique(keys))
    return keys


def _first_of_many(keys: Keys, extra: Keys) -> int | None:
    """Return a row that shares the least key any two coupled rows share; None if no two do."""
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    same &= (extra[order[1:]] != 0) & (extra[order[:-1]] != 0)
    return int(order[same.argmax()]) if same.any() else None


def _beside(kernel: npt.NDArray[np.floating], keys: Keys) -> Keys:
    """Hash of each row's entries with the keys of the rows they belong to."""
    step = max(1, CHUNK // len(keys))
    parts = (_bits(kernel[a : a + step]) for a in range(0, len(keys), step))
    return np.concatenate([_mix(_mix(part) ^ keys).sum(axis=1, dtype=np.uint64) for part in parts])


def content_keys(X: Any, seed: int) -> Keys:
    """One key per row, equal where the rows are; weights and hints do not enter."""
    return _mix(_content(X, np.random.default_rng(seed), False))


def _mix(x: Keys) -> Keys:
    """splitmix64: a bijection that scatters its input."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _bits(values: npt.NDArray[Any]) -> Keys:
    return (values.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0 makes -0.0 and 0.0 one


def _salt(count: int, rng: np.random.Generator) -> Keys:
    return rng.integers(0, 2**64, count, dtype=np.uint64)


def _content(X: Any, rng: np.random.Generator, square: bool) -> Keys:
    if square:
        diagonal = X.diagonal().clone() if is_torch(X) else np.ascontiguousarray(np.diagonal(X))
        return _dense(X, rng, same_salt=True) + _dense(diagonal[:, None], rng)
    if not sp.issparse(X):
        return _dense(X, rng)
    csr = sp.csr_array(X)
    csr.eliminate_zeros()
    entry = _mix(_bits(csr.data) ^ _salt(csr.shape[1], rng)[csr.indices])
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry, dtype=np.uint64)])
    return np.asarray(total[csr.indptr[1:]] - total[csr.indptr[:-1]])


def _dense(X: Any, rng: np.random.Generator, same_salt: bool = False) -> Keys:
    salt = _salt(X.shape[1], rng)
    if same_salt:
        salt[:] = salt[:1]
    if is_torch(X):
        return _there(X, salt)
    keys = np.empty(len(X), np.uint64)
    step = max(1, CHUNK // max(X.shape[1], 1))
    for a in range(0, len(X), step):
        part = _bits(np.ascontiguousarray(X[a : a + step]))
        keys[a : a + step] = _mix(part ^ salt).sum(axis=1, dtype=np.uint64)
    return keys


def _there(X: Any, salt: Keys) -> Keys:
    """Do the same where a torch tensor lies, bit for bit: signed 64-bit numbers wrap alike."""
    import torch

    def shifted(x: Any, by: int) -> Any:
        return (x >> by) & ((1 << (64 - by)) - 1)

    def signed(constant: int) -> int:
        return constant - 2**64

    salts = torch.from_numpy(salt.view(np.int64)).to(X.device)
    keys = []
    step = max(1, CHUNK_THERE // max(X.shape[1], 1))
    for a in range(0, len(X), step):
        x = (X[a : a + step].double() + 0.0).view(torch.int64) ^ salts
        x = x + signed(0x9E3779B97F4A7C15)
        x = (x ^ shifted(x, 30)) * signed(0xBF58476D1CE4E5B9)
        x = (x ^ shifted(x, 27)) * signed(0x94D049BB133111EB)
        keys.append((x ^ shifted(x, 31)).sum(dim=1))
    return to_numpy(torch.cat(keys)).view(np.uint64)


def _neighbours(program: LabelProgram, keys: Keys, rng: np.random.Generator) -> Keys:
    extra = np.zeros(len(keys), np.uint64)
    counts, pairs = program.counts, program.pairs
    if len(counts):
        bounds = _dense(np.concatenate([counts.lower, counts.upper], axis=1), rng)
        group = np.repeat(np.arange(len(counts)), counts.sizes)
        total = bounds.copy()
        np.add.at(total, group, keys[counts.members])
        np.add.at(extra, counts.members, _mix(total)[group])
    if len(pairs):
        tables = _dense(pairs.tables.reshape(len(pairs.tables), -1), rng)
        turned = _dense(pairs.tables.swapaxes(1, 2).reshape(len(pairs.tables), -1), rng)
        weight = _bits(pairs.weight)
        for side, table in ((0, tables), (1, turned)):
            other = keys[pairs.edges[:, 1 - side]]
            np.add.at(extra, pairs.edges[:, side], _mix(other ^ weight ^ table[pairs.table]))
    if program.linear is not None:
        coo = program.linear.tocoo()
        row, cls = np.divmod(coo.coords[1], program.n_classes)
        bounds = _dense(np.column_stack([program.linear_lower, program.linear_upper]), rng)
        entry = _bits(coo.data) ^ _salt(program.n_classes, rng)[cls] ^ bounds[coo.coords[0]]
        np.add.at(extra, row, _mix(entry))
    if len(cliques := program.cliques):
        total = _dense(np.column_stack([cliques.weight, cliques.truncate]), rng)
        np.add.at(total, cliques.owner, _mix(keys)[cliques.members])
        np.add.at(extra, cliques.members, _mix(total)[cliques.owner])
    if program.flow is not None:
        extra += _through(program.flow, program.n_classes, keys, rng)
    # Items have numbers of their own, which do not depend on where a row stands.
    alike, before, behind = _salt(3, rng)
    for parts, one, other in ((program.partitions, alike, alike), (program.orders, before, behind)):
        for part in parts:
            a, b = (_bits(part.items[:, side]) ^ salt for side, salt in ((0, one), (1, other)))
            extra[part.rows] += _mix(_mix(a) + _mix(b))
    return extra


def _through(net: FlowNetwork, n_classes: int, keys: Keys, rng: np.random.Generator) -> Keys:
    """Hash of what a network says of each row, whatever its nodes and arcs are numbered.

    Nodes are told apart by their arcs and those by their ends until no more can be.
    """
    of_class, (out, into) = _salt(n_classes, rng), _salt(2, rng)
    tie = _mix(keys[net.tie_row] ^ of_class[net.tie_class])
    arc = _dense(np.column_stack([net.lower, net.upper, net.cost]), rng)
    arc[net.tie_arc] += tie
    node = _dense(net.supply[:, None].astype(np.float64), rng)
    tail, head = net.arcs.T
    kinds = 0
    while (found := len(np.unique(node))) > kinds:
        kinds = found
        finer = node.copy()
        np.add.at(finer, tail, _mix(arc + _mix(node ^ out)[head]))
        np.add.at(finer, head, _mix(arc + _mix(node ^ into)[tail]))
        node = _mix(finer)
    extra = np.zeros(len(keys), np.uint64)
    ends = _mix(arc + _mix(node ^ out)[tail] + _mix(node ^ into)[head])
    np.add.at(extra, net.tie_row, _mix(ends[net.tie_arc] + tie))
    return extra
