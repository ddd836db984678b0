"""A reader for svmlight/LETOR files."""

from __future__ import annotations

import gzip
import os
import zlib
from collections import deque
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from sklearn_rank._core.files import open_binary
from sklearn_rank._core.protocols import Floats, Indices

_DENSE_SHARE = 0.5
"""Share of entries in the file from which a dense array takes less memory than a sparse one."""

_BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
"""Errors of truncated or damaged gzip data."""


def load_letor(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    return_comments: bool = False,
    zero_based: bool | str = "auto",
) -> Bunch:
    r"""Read a ranking data set in svmlight/LETOR format.

    Each line is one row: ``relevance qid:query index:value index:value ... # comment``. Either all
    lines have ``qid`` or none; entries missing from a line are 0. Without ``qid`` a file
    ``path.query`` or ``path.group`` (with or without the ``.gz`` of a compressed path) may hold the
    number of rows of each query, one per line, as for LightGBM and XGBoost.

    Parameters
    ----------
    path : str or path-like
        The file, optionally compressed with gzip.
    n_features : int, default=None
        Number of columns of `data`. None: the largest index in the file, which can differ between
        the parts of a sparse data set.
    return_comments : bool, default=False
        Whether to return also the text after ``#`` in each line.
    zero_based : bool or "auto", default="auto"
        Whether indices start at 0. False: at 1, as in LETOR. "auto": at 0 if the file has an index
        0. Read the other parts of a data set with the `zero_based` of the first part; "auto" would
        shift a part without index 0 by one column.

    Returns
    -------
    bunch : `~sklearn.utils.Bunch`
        data : ndarray or CSR matrix of shape (n_rows, n_features)
            A dense array if the file holds at least half of the entries (zeros in the file
            count), otherwise a CSR matrix.
        target : ndarray of shape (n_rows,)
            The relevance of each row.
        qid : ndarray of shape (n_rows,) or None
            The query of each row; None without ``qid`` and without a file of queries.
        zero_based : bool
            Whether indices start at 0.
        comments : list of str
            Only with ``return_comments=True``.

    Raises
    ------
    ValueError
        If the file is empty, a line is malformed, or the file ends in the middle of a row. The
        message gives the file, the line number (from 1) and the reason. Also if the file has more
        than `n_features` columns, or an index 0 with ``zero_based=False``, or if the file of
        queries is malformed or does not match the rows.

    See Also
    --------
    make_queries : Generate a ranking data set.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_rank.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two_queries.txt")
    ...     _ = path.write_text(
    ...         "2 qid:7 1:0.5 2:1 # a\n0 qid:7 1:0.1 2:0 # b\n1 qid:9 1:0.2 2:1 # c\n"
    ...     )
    ...     queries = load_letor(path, return_comments=True)
    >>> queries.data
    array([[0.5, 1. ],
           [0.1, 0. ],
           [0.2, 1. ]])
    >>> queries.target, queries.qid, queries.comments
    (array([2., 0., 1.]), array([7, 7, 9]), ['a', 'b', 'c'])
    """
    if zero_based not in ("auto", True, False):
        raise ValueError(f"zero_based must be 'auto', True or False. Got {zero_based!r}.")
    path = Path(path)
    matrix, target, qid = _read_svmlight(path)
    if matrix.shape[0] == 0:
        raise ValueError(f"{path}: holds no rows.")
    has_zero = bool((matrix.indices == 0).any())
    zero_based = has_zero if zero_based == "auto" else bool(zero_based)
    if has_zero and not zero_based:
        raise ValueError(f"{path}: has the index 0, where 1 is the first (zero_based=False).")
    matrix = matrix if zero_based or not matrix.nnz else matrix[:, 1:]
    _check_complete(path, matrix, target, qid)
    n_rows, n_in_file = matrix.shape
    if n_features is not None and n_features < n_in_file:
        reason = f"n_features was set to {n_features}, but the file has {n_in_file} features"
        raise ValueError(f"{path}: {reason}.")
    matrix.resize((n_rows, n_features or n_in_file))
    is_dense = matrix.nnz >= _DENSE_SHARE * matrix.shape[0] * matrix.shape[1]
    data = matrix.toarray() if is_dense else matrix
    query = qid if len(qid) else _queries_from_file(path, n_rows)
    bunch = Bunch(data=data, target=target, qid=query, zero_based=zero_based)
    if return_comments:
        texts = (line.partition(b"#")[2].strip() for _, line in _rows(path))
        bunch.comments = [text.decode(errors="replace") for text in texts]
    return bunch


def _queries_from_file(path: Path, n_rows: int) -> Indices | None:
    """Return the query of each row, from a file of query sizes; None if there is no such file."""
    stems = path, str(path).removesuffix(".gz")
    files = [Path(f"{stem}.{suffix}") for stem in stems for suffix in ("query", "group")]
    file = next(filter(Path.is_file, files), None)
    if file is None:
        return None
    words = file.read_text(encoding="utf-8", errors="replace").split()
    if not all(word.isdecimal() and word.isascii() for word in words):
        raise ValueError(f"{file}: must hold the number of rows of each query, one per line")
    sizes = np.array(words, dtype=np.intp)
    if sizes.sum() != n_rows:
        raise ValueError(f"{file}: its queries have {sizes.sum()} rows, but {path} has {n_rows}")
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def _read_svmlight(path: Path) -> tuple[Any, Floats, Indices]:
    """Read the file with scikit-learn; an error names the malformed line."""
    try:
        with open_binary(path) as file:
            matrix, target, qid = load_svmlight_file(file, query_id=True, zero_based=True)
    except (*_BROKEN_GZIP, ValueError, OverflowError) as error:
        # The reader does not name the line; a slow loop in Python finds it.
        _raise_first_error(path)
        raise ValueError(f"{path}: {error}") from error
    return matrix, target, qid


def _check_complete(path: Path, matrix: Any, target: Floats, qid: Indices) -> None:
    """Raise ValueError for errors that scikit-learn's reader ignores."""
    if len(qid) not in {0, len(target)} or not np.isfinite(target).all():
        _raise_first_error(path)
    # Signs of a file truncated between two entries: every other row has all entries, and the last
    # line has no line end.
    n_entries, width = np.diff(matrix.indptr), matrix.indices.max(initial=-1) + 1
    if len(n_entries) > 1 and n_entries[-1] < width and (n_entries[:-1] == width).all():
        line_number, line = deque(_rows(path), maxlen=1)[0]
        if not line.endswith(b"\n"):
            reason = f"it has {n_entries[-1]} entries and no newline, every other row has {width}"
            where = f"{path}, line {line_number}"
            raise ValueError(f"{where}: the file appears to be truncated in this row: {reason}.")


def _rows(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, line) of each line that holds a row."""
    with open_binary(path) as file:
        for line_number, line in enumerate(file, start=1):
            if line.partition(b"#")[0].strip():
                yield line_number, line


def _raise_first_error(path: Path) -> None:
    """Raise a ValueError for the first malformed line; return if there is none."""
    line_number, n_first = 0, None  # n_first: number of query ids in the first row, 0 or 1
    try:
        for line_number, line in _rows(path):
            reason, row = "", BytesIO(line)
            try:
                _, target, qid = load_svmlight_file(row, query_id=True, zero_based=True)
                n_first = len(qid) if n_first is None else n_first
                if not np.isfinite(target).all():
                    reason = "the relevance must be a finite number"
                elif len(qid) != n_first:
                    reason = f"has {'a' if len(qid) else 'no'} qid, unlike the lines above"
            except (ValueError, OverflowError) as error:
                reason = str(error).rstrip(".")
            if reason:
                text = line.strip().decode(errors="backslashreplace")
                raise ValueError(
                    f"{path}, line {line_number}: {reason}. A row must read 'relevance qid:query "
                    f"index:value ...', with increasing indices. Got {text[:60]!r}."
                )
    except _BROKEN_GZIP as error:
        reason = f"the gzip data is truncated or damaged ({error})"
        raise ValueError(f"{path}, line {line_number + 1}: {reason}.") from error
