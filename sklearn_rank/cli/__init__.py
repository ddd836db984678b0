"""The command line ``sklearn-rank``: compare, train, rank, evaluate, card and export.

The packages of the extra ``cli`` are imported where they are used, so that importing this
package, and ``sklearn-rank --help``, needs none of them.

The words of a command line become the arguments of a command's function once::

    _parser, _card_commands -> _command -> _compare, _rank, _cards -> _output

A table becomes a data set in one direction (in `_tables`)::

    reading: file -> Table -> columns: how it is read (Schema) -> dataset: Dataset

A comparison too: `_contest` scores held-out rows and judges, `_compare` prints.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from sklearn_rank.cli._tables.inputs import InputError, import_extra, one_line

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; the default is ``sys.argv[1:]``.

    Returns
    -------
    code : int
        0 on success, 2 for bad input (with one line on stderr), 130 when interrupted.
    """
    code, problem = 0, ""
    try:
        import_extra("click")
        import_extra("sklearn_rank.cli._parser").run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output (`head`, say) has exited
        code = 141  # 128 + SIGPIPE, as shells report it
    except (InputError, MemoryError, OSError, UnicodeEncodeError) as error:
        what = str(error) or "the table does not fit into memory"
        if isinstance(error, OSError):
            what = f"{error.filename or 'input or output'}: {error.strerror or error}"
        code, problem = 2, f"error: {one_line(what)}"
    except KeyboardInterrupt:
        code, problem = 130, "interrupted; no file was left half-written"  # 128 + SIGINT
    if problem:
        print(f"sklearn-rank: {problem}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # what can't be written is given up: Python would fail again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
