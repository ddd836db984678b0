"""Entry point: parse the arguments, run a command, return an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from sklearn_rank.cli._output import one_line
from sklearn_rank.cli._tables.errors import InputError, import_extra


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
    try:
        import_extra("click")
        import_extra("sklearn_rank.cli._parser").run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output (`head`, say) has exited.
        _drop_output()
        return 141  # 128 + SIGPIPE, as shells report it
    except (InputError, MemoryError, OSError, UnicodeEncodeError) as error:
        print(f"sklearn-rank: error: {one_line(_explain(error))}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return 2
    except (KeyboardInterrupt, ImportError) as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__  # extension modules hide Ctrl-C
        if cause is None:
            raise
        print("sklearn-rank: interrupted; no file was left half-written", file=sys.stderr)
        return 130  # 128 + SIGINT
    return 0


def _drop_output() -> None:
    """Give up what can't be written: Python would fail again when it flushes stdout at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: Exception) -> str:
    """Return the description of an error."""
    if isinstance(error, MemoryError):
        return "the table does not fit into memory"
    if isinstance(error, OSError):
        return f"{error.filename or 'input or output'}: {error.strerror or error}"
    if isinstance(error, UnicodeEncodeError):
        character = error.object[error.start]
        return f"the terminal's {error.encoding} has no {character!a}; try PYTHONIOENCODING=utf-8"
    return str(error)
