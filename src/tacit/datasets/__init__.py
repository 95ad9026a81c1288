"""Data sets: those that are made, and readers of public ones."""

from tacit.datasets.files import (
    SSL_SETS,
    Digits,
    SSLSet,
    balanced_rows,
    data_folder,
    load_mnist,
    load_ssl,
    make_negatives,
)
from tacit.datasets.moons import make_batches, make_four_moons, make_links, make_tree

__all__ = [
    "SSL_SETS",
    "Digits",
    "SSLSet",
    "balanced_rows",
    "data_folder",
    "load_mnist",
    "load_ssl",
    "make_batches",
    "make_four_moons",
    "make_links",
    "make_negatives",
    "make_tree",
]
