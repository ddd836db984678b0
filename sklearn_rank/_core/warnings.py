"""Warnings that point at the user's line, however deep inside a fit they are raised."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextvars import ContextVar

import joblib
import sklearn

_PACKAGES = os.path.dirname(os.path.dirname(__file__)), *sklearn.__path__, *joblib.__path__
_FOLDERS = tuple(os.path.join(folder, "") for folder in _PACKAGES)
"""Folders of this package, scikit-learn and joblib: their frames are not the user's."""

IS_MUTED = ContextVar[Callable[..., bool]]("IS_MUTED", default=lambda message, category: False)
"""Called with the message and the category of each warning; True suppresses it.

For fits whose warnings are issued elsewhere, or not at all. It applies to one thread, while
`warnings.catch_warnings` applies to all threads of the process.
"""


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn at the first frame outside this package, scikit-learn and joblib.

    In a worker process there may be no such frame: then at the outermost one.
    """
    if IS_MUTED.get()(message, category):
        return
    frame, stacklevel = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDERS):
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)
