"""The command line ``sklearn-rank``: compare, train, rank and evaluate on a user's file.

The packages of the extra ``cli`` are imported where they are used, so that importing this
package, and ``sklearn-rank --help``, needs none of them.

The words of a command line become settings once, and a command hands its parts the few values
that they need::

    _parser -> _settings -> _compare, _train, _rank, _cards -> _output

A table becomes a data set in one direction; `_dataset` calls the stages in turn::

    file -> raw table -> columns: kind, form -> target, query, weight -> features, data set
            _tables      _columns               _roles                   _dataset
                         _numbers
"""

from sklearn_rank.cli._main import main

__all__ = ["main"]
