"""Fitted estimators as files."""

from tacit.persistence.model_file import load, save, whole_file

__all__ = ["load", "save", "whole_file"]
