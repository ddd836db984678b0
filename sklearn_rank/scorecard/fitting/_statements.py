"""What a card states of its fit: figures of rows held out, the date, a fingerprint of the rows."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import numpy as np

from sklearn_rank._core.rows import Rows
from sklearn_rank.metrics import auc_score, ks_score, partial_auc_score

TOP = 0.05
"""Share of the negatives up to which the partial area goes."""


def fit_statements(data: Rows, known: Rows, held_out: Rows | None) -> dict[str, Any]:
    """Return the details of a card on its training.

    Parameters
    ----------
    data : Rows
        The training rows of this process, equal ones as one.
    known : Rows
        Those of all processes.
    held_out : Rows or None
        Rows with the scores of rankers fitted without them.
    """
    return {
        **held_out_figures(held_out if known.qid is None else None),
        "made_on": datetime.now(UTC).date().isoformat(),
        "fingerprint_of_the_data": fingerprint(data),
    }


def held_out_figures(rows: Rows | None) -> dict[str, float]:
    """Return AUC, KS distance and partial AUC of held-out scores; nothing without them."""
    if rows is None or len(np.unique(rows.y)) < 2:
        return {}
    y, scores, weight = rows.y, rows.X[:, 0], rows.weight
    return {
        "held_out_auc": float(auc_score(y, scores, sample_weight=weight)),
        "held_out_ks": float(ks_score(y, scores, sample_weight=weight)),
        "held_out_pauc_5": float(partial_auc_score(y, scores, max_fpr=TOP, sample_weight=weight)),
    }


def fingerprint(data: Rows) -> str:
    """Return a text that is the same for the same rows, in any order and on any processes.

    It is of the features, the class and the multiplicity of each distinct row.
    """
    parts = (data.concat(one) for one in (data.code, np.asarray(data.y), data.weight))
    code, y, weight = parts
    order = np.lexsort((y, code))
    code, y = code[order], y[order]
    is_first = np.append(True, (np.diff(code) != 0) | (y[1:] != y[:-1]))
    starts = np.flatnonzero(is_first)
    summed = np.add.reduceat(weight[order], starts)
    summed = np.where(summed < 1e15, np.minimum(summed, 1e15).round(9), summed)  # no overflow
    digest = hashlib.sha256()
    for one, kind in ((code[starts], "<u8"), (y[starts], "<u1"), (summed, "<f8")):
        digest.update(one.astype(kind).tobytes())
    return digest.hexdigest()[:16]
