"""What the fuzzing scripts share: damaged bytes, a guard round each call, batches, the report.

The cases of a part are numbered; a case depends on the seed, the part and its number alone. They
run in batches, each in a process of its own: a crash of native code ends one batch, is counted, and
the next process goes on after it.
"""

import argparse
import contextlib
import ctypes
import io
import json
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Record, describe_machine, with_scripts
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
class Batch:
    """What the cases of some numbers gave."""

    part: str
    start: int
    stop: int
    counts: dict[str, int] = field(default_factory=dict)
    finds: list[Record] = field(default_factory=list)
    slowest: float = 0.0
    largest: int = 0

    def add(self, other: "Batch") -> None:
        """Count the cases of another batch, which follows on this one."""
        self.stop = other.stop
        self.counts = dict(Counter(self.counts) + Counter(other.counts))
        self.finds += other.finds
        self.slowest = max(self.slowest, other.slowest)
        self.largest = max(self.largest, other.largest)


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
    seconds, used = time.process_time() - started, max(0, _peak() - before) if limits else 0
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
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return 0


def _forget_peak() -> int:
    """Set the mark of the largest memory back, and return what is taken now (Linux only)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return 0


def _peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        return 0


# --- batches -------------------------------------------------------------------------------------


def run_batch(case: Case, batch: Batch, seed: int, mark: Path) -> None:
    """Run the cases of a batch in this process, and print what they gave as a line of JSON."""
    _limit_memory()
    signal.signal(signal.SIGPROF, _too_slow)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(batch.start, batch.stop):
            mark.write_text(str(number))
            made = make_case(case, batch.part, seed, number, Path(folder))
            found = run_guarded(*made)
            counts[found["kind"]] += 1
            batch.slowest = max(batch.slowest, found["seconds"])
            batch.largest = max(batch.largest, found["bytes"])
            if found["kind"] in FAULTS:
                batch.finds.append({"number": number, **found})
            _clear(Path(folder))
    batch.counts = dict(counts)
    print(json.dumps(asdict(batch)))


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
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


def run_child(module: str, part: str, start: int, stop: int, seed: int) -> Batch:
    """Run a batch in a process; a crash or a stall ends it early, and is a find."""
    with tempfile.TemporaryDirectory() as folder:
        mark, out = Path(folder, "mark"), Path(folder, "out")
        words = [sys.executable, "-m", module, "--batch", part, str(start), str(stop), str(mark)]
        words += ["--seed", str(seed)]
        with open(out, "wb") as output, open(Path(folder, "err"), "wb") as errors:
            child = subprocess.Popen(words, stdout=output, stderr=errors, env=with_scripts())
            code = _watched(child, mark)
        if code == 0:
            return Batch(**json.loads(out.read_text().splitlines()[-1]))
        error = Path(folder, "err").read_text(errors="replace").strip()
        if not mark.exists():
            raise RuntimeError(f"the batch did not start: {error}")
        number = int(mark.read_text())
    kind = "hang" if code == -signal.SIGKILL else "crash"
    find = {"number": number, "kind": kind, "detail": f"exit {code}: {error[-500:]}"}
    found = run_child(module, part, start, number, seed) if number > start else Batch(part, 0, 0)
    found.add(Batch(part, number, number + 1, {kind: 1}, [find]))
    return found


def _watched(child: subprocess.Popen[bytes], mark: Path) -> int:
    """Return the exit code of a process, which is killed when it stays at one case."""
    started = time.time()
    while True:
        try:
            return child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            moved = mark.stat().st_mtime if mark.exists() else started
            if time.time() - max(moved, started) > STALLED:
                child.kill()


# --- a run ---------------------------------------------------------------------------------------


def main(name: str, about: str, parts: Mapping[str, Part], warm_up: Callable[[], Any]) -> None:
    """Run the parts of a script in batches of processes and report, or run one of these batches."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after the batch then run")
    parser.add_argument("--quick", action="store_true", help="a few cases of each part")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there as well")
    parser.add_argument("--batch", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        part, start, stop, mark = options.batch
        warm_up()
        batch = Batch(part, int(start), int(stop))
        run_batch(parts[part].case, batch, options.seed, Path(mark))
        return
    end = time.monotonic() + 60 * options.minutes
    whole = {}
    for part in options.only:
        one, whole[part] = parts[part], Batch(part, 0, 0)
        n_cases = one.few if options.quick else one.many
        for start in range(0, n_cases, one.size):
            if time.monotonic() < end:
                stop = min(n_cases, start + one.size)
                module = f"robustness.{name}"
                whole[part].add(run_child(module, part, start, stop, options.seed))
    report(name, about, options.seed, whole).publish(options.json)


def report(name: str, about: str, seed: int, whole: Mapping[str, Batch]) -> Report:
    """Return the counts of all parts, and what was found."""
    rows: list[list[Any]] = []
    finds: list[list[Any]] = []
    for part, one in whole.items():
        counts = [one.counts.get(kind, 0) for kind in (RESULT, REFUSED, *FAULTS)]
        most = [round(one.slowest, 2), round(one.largest / 2**20, 1)]
        rows.append([part, one.stop, *counts, *most])
        finds += [[part, find["number"], find["kind"], find["detail"][-300:]] for find in one.finds]
    columns = ["part", "cases", RESULT, REFUSED, *FAULTS, "slowest, s", "most memory, MiB"]
    tables = [Table("What the cases gave", columns, rows)]
    if finds:
        tables.append(Table("Faults", ["part", "number", "kind", "detail"], finds[:200]))
    faults = sum(one.counts.get(kind, 0) for one in whole.values() for kind in FAULTS)
    machine = describe_machine("pandas", "pyarrow", "skops", "lightgbm", "xgboost-cpu")
    verdicts = [Verdict("cases with a fault", 0, faults)]
    return Report(name, f"{about} Seed {seed}.", machine, tables, verdicts)
