"""What the fuzzing scripts share: damaged bytes, a guard round each call, batches, the report.

The cases of a part are numbered; a case depends on the seed, the part and its number alone. They
run in batches, each in a process of its own: a crash of native code ends one batch, is counted, and
the next process goes on after it.
"""

import contextlib
import ctypes
import io
import multiprocessing
import signal
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Record, command_line, describe_machine
from _report import Report, Table, Verdict

SECONDS, STALLED = 10, 900
"""A case may take so much time of the processor; a process that stays at one for the second, of the
clock, is killed."""

FREE_BYTES, PER_BYTE = 128 * 2**20, 10
"""A case may take so much memory beyond what the process has: a constant, and so much a byte."""

ADDRESS_SPACE = 8 * 2**30
LONGEST_LINE = 1200
RESULT, REFUSED = "result", "refused"
FAULTS = ("traceback", "more than a line", "hang", "memory", "crash")

Case = Callable[[np.random.Generator, Path], tuple[Callable[[], str], int]]
"""Writes files below a folder; returns the call, and the number of bytes that it reads.

The call returns the one line of a refusal, or "" for a result.
"""


class TooSlowError(BaseException):
    """The signal after `SECONDS`; no ``except Exception`` catches it."""


@dataclass
class Part:
    """A part of a script: its cases, how many with --quick and without, and how many a process."""

    case: Case
    few: int
    many: int
    size: int


def damaged(content: bytes, rng: np.random.Generator, other: bytes = b"") -> bytes:
    """Return bytes with one to four faults: flips, cuts, insertions, repetitions and swaps."""
    found = bytearray(content)
    for _ in range(min(4, int(rng.geometric(0.6)))):
        if not found:
            break
        a, b = sorted(rng.integers(0, len(found) + 1, size=2).tolist())
        b = min(b, a + int(rng.integers(1, 64)))
        at = min(a, len(found) - 1)
        match rng.integers(9):
            case 0:
                found[at] ^= 1 << int(rng.integers(8))
            case 1:
                found[at] = int(rng.integers(256))
            case 2:
                del found[a:]
            case 3:
                del found[a:b]
            case 4:
                found[a:a] = rng.bytes(int(rng.integers(1, 9)))
            case 5:
                found[a:a] = found[a:b] * int(rng.integers(1, 9))
            case 6:
                found[a:b] = other[a:b]
            case 7:
                found[a:] = other[a:]
            case _:
                found[a:a] = _ODD[int(rng.integers(len(_ODD)))]
    return bytes(found)


_ODD = [
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b'"', b'"""', b",", b";;", b"\t"),
    *(b"#", b"1e999", b"-1e308", b"9" * 400, b"nan", b"-inf", b"\x1b[2J", b"\x85", b"\xe2\x80\xa8"),
    *(b"qid:1", b"4294967296:1", b"2147483646:1", b"0x10", b"1_000", b"2020-02-30", b"\x1a"),
    *(b"\xed\xa0\x80", b"'", b"\\", b"{}", b"[[", b"null", b"NaT", b"99999-01-01", b"PAR1"),
]


# --- one case ------------------------------------------------------------------------------------


def make_case(case: Case, part: str, seed: int, number: int, folder: Path) -> Any:
    """Write the files of a case; return its call and the number of bytes."""
    return case(np.random.default_rng([seed, zlib.crc32(part.encode()), number]), folder)


def run_guarded(call: Callable[[], str], n_bytes: int, *, limits: bool = True) -> Record:
    """Run a call and return its kind, its seconds, and the bytes of memory that it needed.

    Without `limits` it may take any time and memory.
    """
    before, started = _forget_peak() if limits else 0, time.process_time()
    kind, detail = RESULT, ""
    if limits:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("error")  # a warning would be a line more
            line = call()
        if line:
            kind, detail = REFUSED, line
            if "\n" in line or not line.isprintable() or len(line) > LONGEST_LINE:
                kind = "more than a line"
    except TooSlowError:
        kind, detail = "hang", _where()
    except MemoryError:
        kind, detail = "memory", _where()
    except BaseException:  # SystemExit too is a fault here
        kind, detail = "traceback", _where()
    finally:
        if limits:
            signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - started
    used = max(0, _status("VmHWM") - before) if limits else 0
    if kind in (RESULT, REFUSED) and used > FREE_BYTES + PER_BYTE * n_bytes:
        kind = "memory"
    return {"kind": kind, "detail": detail[:2000], "seconds": seconds, "bytes": used}


def _where() -> str:
    """Return the last frames of the exception, and what it says."""
    lines = traceback.format_exc().strip().splitlines()
    places = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    short = [place.replace('"', "").rpartition("site-packages/")[2] for place in places]
    return " | ".join([*short[-4:], lines[-1]])


def _status(key: str) -> int:
    """Return a size of this process in bytes (Linux only)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


def _forget_peak() -> int:
    """Set the mark of the largest memory back, and return what is taken now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


# --- batches -------------------------------------------------------------------------------------


def run_batch(
    results: Any, warm_up: Callable[[], Any], case: Case, part: str, seed: int, numbers: range
) -> None:
    """Run cases in this process, and send what each of them gave."""
    with contextlib.redirect_stdout(io.StringIO()):
        warm_up()
    _limit_memory()
    signal.signal(signal.SIGPROF, _too_slow)
    results.send("ready")
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            results.send(run_guarded(*make_case(case, part, seed, number, Path(folder))))
            for path in Path(folder).iterdir():
                path.unlink()


def _too_slow(*_: Any) -> None:
    raise TooSlowError


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):
        # Large blocks go back to the system when they are freed: the next case starts without them.
        ctypes.CDLL(None).mallopt(-3, 2**20)


def run_child(warm_up: Callable[[], Any], case: Case, *words: Any) -> list[Record]:
    """Run a batch in a process, up to a case that crashes or stalls; return what the cases gave."""
    context = multiprocessing.get_context("spawn")
    results, theirs = context.Pipe(duplex=False)
    child = context.Process(target=run_batch, args=(theirs, warm_up, case, *words))
    child.start()
    theirs.close()
    received: list[Record] = []
    kind = ""
    while not kind and len(received) <= len(words[-1]):
        try:
            kind = "" if results.poll(STALLED) else "hang"
            received += [] if kind else [results.recv()]
        except EOFError:
            kind = "crash"
    child.kill()
    child.join()
    if not received:
        raise RuntimeError(f"the batch did not start: exit {child.exitcode}")
    if kind:
        detail = f"exit {child.exitcode}"
        received.append({"kind": kind, "detail": detail, "seconds": 0.0, "bytes": 0})
    return received[1:]  # without "ready"


# --- a run ---------------------------------------------------------------------------------------


def main(name: str, about: str, parts: Mapping[str, Part], warm_up: Callable[[], Any]) -> None:
    """Run the parts of a script in batches of processes and report."""
    parser = command_line(about, quick="a few cases of each part")
    add = parser.add_argument
    add("--seed", type=int, default=0)
    add("--minutes", type=float, default=1e9, help="stop after the batch then run")
    add("--only", nargs="+", choices=parts, default=list(parts))
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    records: dict[str, list[Record]] = {part: [] for part in options.only}
    for part, received in records.items():
        one = parts[part]
        n_cases = one.few if options.quick else one.many
        while len(received) < n_cases and time.monotonic() < end:
            numbers = range(len(received), min(n_cases, len(received) + one.size))
            received.extend(run_child(warm_up, one.case, part, options.seed, numbers))
    report(name, about, options.seed, records).publish(options.json)


def report(name: str, about: str, seed: int, records: Mapping[str, list[Record]]) -> Report:
    """Return the counts of all parts, and the faults."""
    rows: list[list[Any]] = []
    faults: list[list[Any]] = []
    for part, received in records.items():
        counts = Counter(record["kind"] for record in received)
        slowest = max((record["seconds"] for record in received), default=0.0)
        largest = max((record["bytes"] for record in received), default=0) / 2**20
        kinds = [counts[kind] for kind in (RESULT, REFUSED, *FAULTS)]
        rows.append([part, len(received), *kinds, round(slowest, 2), round(largest, 1)])
        faults += [
            [part, number, record["kind"], record["detail"][-300:]]
            for number, record in enumerate(received)
            if record["kind"] in FAULTS
        ]
    columns = ["part", "cases", RESULT, REFUSED, *FAULTS, "slowest, s", "most memory, MiB"]
    tables = [Table("What the cases gave", columns, rows)]
    if faults:
        tables.append(Table("Faults", ["part", "number", "kind", "detail"], faults[:200]))
    machine = describe_machine("pandas", "pyarrow", "skops", "lightgbm", "xgboost-cpu")
    verdicts = [Verdict("cases with a fault", 0, len(faults))]
    return Report(name, f"{about} Seed {seed}.", machine, tables, verdicts)
