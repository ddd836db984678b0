"""Pair losses of arrays of other libraries, which stay in the library and on their device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import (
    LARGEST_WEIGHT,
    SMALLEST_WEIGHT,
    check_relevance,
    check_weight,
)
from sklearn_rank._pair_sums._library_sums import LIBRARY_SUMS


def other_library(values: Any) -> Any:
    """Return the namespace of an array of another library than NumPy, None for other values."""
    if isinstance(values, np.ndarray | np.generic):
        return None
    if hasattr(values, "__array_namespace__"):
        return values.__array_namespace__()
    if _library(values) in ("cupy", "torch"):
        owner = f"pair_loss_and_gradient with scores of {_library(values)}"
        return import_extra("array_api_compat", "array-api", owner).array_namespace(values)
    return None


def library_loss_and_gradient(
    xp: Any, y_true: Any, y_score: Any, loss: Any, qid: Any, sample_weight: Any
) -> tuple[float, Any]:
    """Return the loss over all pairs and its gradient, an array of the library of `y_score`."""
    if not isinstance(loss, str) or loss not in LIBRARY_SUMS:
        raise _not_supported(y_score, f"loss={loss!r}")
    if qid is not None:
        raise _not_supported(y_score, "a qid")
    f = _floats(xp, y_score, "y_score")
    given = xp.ones_like(f) if sample_weight is None else sample_weight
    y = _column(xp, y_true, "y_true", f, lambda: check_relevance(y_true, "y_true"))
    w = _column(xp, given, "sample_weight", f, lambda: check_weight(given, f.shape[0]))
    if not bool(xp.all((w == 0.0) | ((w >= SMALLEST_WEIGHT) & (w <= LARGEST_WEIGHT)))):
        allowed = f"0 or between {SMALLEST_WEIGHT:.2g} and {LARGEST_WEIGHT:g}"
        raise ValueError(f"sample_weight must be {allowed}.")
    counts = w > 0.0
    if not bool(xp.any(counts)):
        raise ValueError("sample_weight: all weights are zero, so that no row counts.")
    top, bottom = xp.max(y[counts]), xp.min(y[counts])
    is_upper, is_lower = y == top, y == bottom
    if not bool(xp.all(is_upper | is_lower | ~counts)):
        raise _not_supported(y_score, "more levels of relevance")
    if bool(top == bottom):  # no pair
        return 0.0, xp.zeros_like(f)
    # Rows of weight zero could lie far out.
    f = xp.clip(f, float(xp.min(f[counts])), float(xp.max(f[counts])))
    a, b = (w * xp.astype(side, xp.float64) for side in (is_upper, is_lower))
    with np.errstate(over="ignore", divide="ignore"):  # of libraries that compute by NumPy
        return LIBRARY_SUMS[loss](xp, f, a, b)


def _library(values: Any) -> str:
    """Return the name of the package of an array."""
    return type(values).__module__.partition(".")[0]


def _not_supported(y_score: Any, got: str) -> ValueError:
    return ValueError(
        f"pair_loss_and_gradient with scores of {_library(y_score)} takes the losses "
        f"{', '.join(map(repr, LIBRARY_SUMS))} of one list with two levels of relevance. "
        f"Got {got}, which needs scores as a NumPy array."
    )


def _column(xp: Any, values: Any, name: str, f: Any, check: Callable[[], Floats]) -> Any:
    """Return 64-bit floats for the rows of f; `check` reads what is no array of a library."""
    library = other_library(values)
    if library is None:
        # A copy, since PyTorch warns of memory that it may not write to.
        array = xp.asarray(np.array(check()), device=f.device)
    elif library is xp and values.device == f.device:
        array = _floats(xp, values, name)
    else:
        raise ValueError(
            f"{name} must be a NumPy array, or an array of the library of y_score on its device. "
            f"Got one of {_library(values)} on {values.device}."
        )
    if array.shape != f.shape:
        raise ValueError(
            "Found arrays with inconsistent numbers of samples: "
            f"{name} has {array.shape[0]}, y_score has {f.shape[0]}."
        )
    return array


def _floats(xp: Any, values: Any, name: str) -> Any:
    """Return an array of a library, checked, as 64-bit floats."""
    array = values.detach() if hasattr(values, "detach") else values  # from PyTorch's graph
    if array.ndim != 1 or not xp.isdtype(array.dtype, ("bool", "integral", "real floating")):
        raise ValueError(
            f"{name} must be a 1d array of numbers. Got one of shape {tuple(array.shape)} and "
            f"type {array.dtype}."
        )
    if not array.shape[0]:
        raise ValueError(f"{name} is empty: there is no row.")
    array = xp.astype(array, xp.float64)
    if not bool(xp.all(xp.isfinite(array))):
        raise ValueError(f"{name} contains NaN or infinity.")
    return array
