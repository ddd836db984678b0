"""The command line ``sklearn-rank``: compare, train, rank and evaluate on a user's file.

The packages of the extra ``cli`` are imported where they are used, so that importing this
package, and ``sklearn-rank --help``, needs none of them.
"""

from sklearn_rank.cli._main import main

__all__ = ["main"]
