"""The command line ``sklearn-rank``: compare, train, rank and evaluate on a file of one's own.

Everything here may use the packages of the extra ``cli``; they are imported where they are
needed, so that importing this package, and ``sklearn-rank --help``, needs none of them.
"""

from sklearn_rank.cli._main import main

__all__ = ["main"]
