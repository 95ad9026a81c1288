"""Fitted estimators as files."""

from tacit.persistence.model_file import load, replaceable, save, whole_file

__all__ = ["load", "replaceable", "save", "whole_file"]
