"""Papers 000 and 004: learning from hints about labels, and discrete-continuous ADMM."""

__all__ = ()
