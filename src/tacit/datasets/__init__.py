"""Data sets that are made, not downloaded."""

from tacit.datasets.moons import make_batches, make_four_moons, make_links

__all__ = ["make_batches", "make_four_moons", "make_links"]
