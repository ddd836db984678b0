"""Warnings that point at the user's line, however deep inside a fit they are raised."""

from __future__ import annotations

import os
import sys
import warnings

import joblib
import sklearn

_TOOLS = tuple(
    os.path.join(os.path.dirname(path), "")
    for path in (__file__, sklearn.__file__, joblib.__file__)
)
"""Folders of this package and of those whose frames lie between it and the user."""


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn at the first frame outside this package, scikit-learn and joblib.

    In a worker process there may be none: then at the outermost frame.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_TOOLS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
