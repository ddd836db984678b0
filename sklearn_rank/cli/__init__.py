"""The command line ``sklearn-rank``: compare, train, rank, evaluate, card and export.

The packages of the extra ``cli`` are imported where they are used, so that importing this
package, and ``sklearn-rank --help``, needs none of them.

The words of a command line become the arguments of a command's function once::

    _parser -> _compare, _train, _rank, _export, _cards -> _output

A table becomes a data set in one direction (in `_tables`)::

    reading: file -> Table -> columns, kinds: how it is read (Schema) -> roles, dataset: Dataset

A comparison too: `_crossval` scores rows held out, `_contest` judges, `_compare` prints.
"""

from sklearn_rank.cli._main import main

__all__ = ["main"]
