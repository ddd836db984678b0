"""Entry point: parse the arguments, run a command, return an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from sklearn_rank.cli._errors import InputError, import_extra

_BAD_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_INTERRUPTED_MESSAGE = "sklearn-rank: interrupted; no file was left half-written"
_BROKEN_PIPE = 141  # 128 + SIGPIPE


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
        from sklearn_rank.cli._parser import run

        run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(_INTERRUPTED_MESSAGE, file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of the output (`head`, say) has exited. Python would fail again when it
        # flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (InputError, MemoryError, OSError, UnicodeEncodeError) as error:
        print(f"sklearn-rank: error: {_explain(error)}", file=sys.stderr)
        return _BAD_INPUT
    except ImportError as error:
        if not _is_interruption(error):
            raise
        print(_INTERRUPTED_MESSAGE, file=sys.stderr)
        return _INTERRUPTED
    return 0


def _is_interruption(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error: extension modules turn it into an ImportError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _explain(error: Exception) -> str:
    """Return a message of one line."""
    if isinstance(error, MemoryError):
        return "the table does not fit into memory"
    if isinstance(error, OSError):
        return f"{error.filename or 'input or output'}: {error.strerror or error}"
    if isinstance(error, UnicodeEncodeError):
        character = error.object[error.start]
        return f"the terminal's {error.encoding} has no {character!a}; try PYTHONIOENCODING=utf-8"
    return " ".join(str(error).split())
