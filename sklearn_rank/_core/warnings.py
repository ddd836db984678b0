"""Warnings that point at the user's line, however deep inside a fit they are raised."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextvars import ContextVar

import joblib
import sklearn

_FOLDERS = [os.path.dirname(path) for path in (__file__, sklearn.__file__, joblib.__file__)]
_FOLDERS[0] = os.path.dirname(_FOLDERS[0])  # of the whole package
_TOOLS = tuple(os.path.join(folder, "") for folder in _FOLDERS)
"""Folders of this package and of those whose frames lie between it and the user."""

IS_TAKEN = ContextVar[Callable[..., bool]]("IS_TAKEN", default=lambda message, category: False)
"""Gets the message and the category of each warning; True means that it is not issued.

For fits whose warnings are issued elsewhere, or not at all. It holds for one thread, where
`warnings.catch_warnings` is for all threads of the process.
"""


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn at the first frame outside this package, scikit-learn and joblib.

    In a worker process there may be none: then at the outermost frame.
    """
    if IS_TAKEN.get()(message, category):
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_TOOLS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
