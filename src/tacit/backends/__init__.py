"""Which array library an array belongs to."""

from tacit.backends._namespace import Array, array_namespace, to_numpy

__all__ = ["Array", "array_namespace", "to_numpy"]
