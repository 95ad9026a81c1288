"""Pictures; matplotlib is imported when one is drawn."""

from tacit.plots.demo import DemoPicture, draw_demo
from tacit.plots.history import plot_history
from tacit.plots.plane import Answer

__all__ = ["Answer", "DemoPicture", "draw_demo", "plot_history"]
