"""Generated and damaged tables through the readers and the commands: a result, or one line.

From the folder `benchmarks`:

    python -m robustness.fuzz_readers --json ../docs/benchmarks/fuzz_readers.json
    python -m robustness.fuzz_readers --quick                        # a minute

A case is a fault if it ends in a traceback, in a message of more than one printable line, after
more than 10 s, or with more memory than 10 bytes a byte of the (unpacked) file and 128 MiB.
"""

import contextlib
import gzip
import io
import tempfile
import warnings
import zlib
from pathlib import Path

import numpy as np
from robustness._files import damaged_file, generated_csv, generated_svmlight, good_frame, svmlight
from robustness._fuzzing import Part, damaged, main

_GENERATORS = (generated_csv, generated_csv, generated_svmlight)


TRAIN = ["--ranker", "RankBoost", "--param", "n_estimators=2"]


def _options_for(suffix: str, rng: np.random.Generator) -> list[str]:
    options = [] if ".svm" in suffix else ["--target", "y"]
    if rng.random() < 0.15:
        options += ["--relevance", "graded"]
    if rng.random() < 0.1:
        encodings = ("latin-1", "utf-16-le", "utf-16", "cp1252", "utf-7")
        options += ["--encoding", encodings[rng.integers(5)]]
    if rng.random() < 0.05:
        options += ["--sep", (",", ";", "tab", " ")[rng.integers(4)]]
    return options


def _reading(folder: Path, suffix: str, content: bytes, rng: np.random.Generator):
    path, model = folder / f"table{suffix}", folder / "m.skops"
    path.write_bytes(content)
    words = ["train", str(path), *_options_for(suffix, rng), *TRAIN, "-o", str(model), "--force"]
    return (lambda: called(words)), _unpacked(content)


def called(words: list[str]) -> str:
    """Run a command in this process; return what it says on stderr if it refuses."""
    from sklearn_rank.cli import main

    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code = main(words)
    text = errors.getvalue()
    if code == 2 and text.startswith("sklearn-rank: error: ") and text.endswith("\n"):
        return text[:-1]
    if code:
        raise AssertionError(f"exit code {code}: {text[:500]}")
    if any(not line.startswith(("note: ", "sklearn-rank: ")) for line in text.splitlines()):
        raise AssertionError(f"stderr: {text[:500]}")
    return ""


def _unpacked(content: bytes) -> int:
    """Return the size of a file, or of what is packed in it."""
    try:
        return max(len(content), len(gzip.decompress(content)))
    except (OSError, EOFError, zlib.error):
        return len(content)


# --- parts ---------------------------------------------------------------------------------------


def damaged_case(rng: np.random.Generator, folder: Path):
    """Read a good file with faults."""
    return _reading(folder, *damaged_file(rng), rng)


def generated_case(rng: np.random.Generator, folder: Path):
    """Read a generated file, damaged now and then."""
    suffix, content = _GENERATORS[int(rng.integers(len(_GENERATORS)))](rng)
    content = damaged(content, rng) if rng.random() < 0.2 else content
    return _reading(folder, suffix, content, rng)


def _table_for_commands(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return a table that is mostly good enough to fit a ranker to."""
    match rng.integers(5):
        case 0:
            return ".svm", svmlight(40, int(rng.integers(1000)), queries=bool(rng.integers(2)))
        case 1:
            return damaged_file(rng)
        case 2:
            return ".csv", good_frame(40, int(rng.integers(1000))).to_csv(index=False).encode()
        case _:
            return generated_csv(rng, 30)


def train_and_rank_case(rng: np.random.Generator, folder: Path):
    """Fit a ranker to a table, and rank that table, damaged in every other case."""
    suffix, content = _table_for_commands(rng)
    data, new, model = (folder / name for name in (f"t{suffix}", f"n{suffix}", "m.skops"))
    data.write_bytes(content)
    new.write_bytes(damaged(content, rng) if rng.random() < 0.5 else content)
    ranker = ("PNormPushRanker", "RankBoost", "ListNetLinear", "BoostedTreesRanker")[
        rng.integers(4)
    ]
    few = ["--param", "max_iter=3" if ranker == "ListNetLinear" else "n_estimators=3"]
    options = _options_for(suffix, rng)
    words = ["train", str(data), *options, "--ranker", ranker, *few, "-o", str(model)]

    def call() -> str:
        line = called(words)
        if line:
            return line
        out = folder / f"ranked{('.csv', '.parquet')[suffix == '.parquet']}"
        return called(["rank", str(model), str(new), "-o", str(out), "--explain"])

    return call, 2 * _unpacked(content)


def compare_case(rng: np.random.Generator, folder: Path):
    """Compare two rankers on a table."""
    suffix, content = _table_for_commands(rng)
    data = folder / f"table{suffix}"
    data.write_bytes(content)
    target = [] if ".svm" in suffix else ["--target", "y"]
    words = ["compare", str(data), *target, "--rankers", "RankBoost,PNormPushRanker", "--cv", "2"]
    return (lambda: called([*words, "--param", "n_estimators=3"])), 2 * _unpacked(content)


def _warm_up() -> None:
    """Read good files once: what imports take is no case's memory or time."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in (damaged_file, generated_csv) * 10:
            with contextlib.suppress(Exception):
                _reading(Path(folder), *make(rng), rng)[0]()


PARTS = {
    "damaged": Part(damaged_case, 300, 30_000, 500),
    "generated": Part(generated_case, 200, 10_000, 200),
    "train and rank": Part(train_and_rank_case, 20, 2_000, 20),
    "compare": Part(compare_case, 3, 200, 2),
}

if __name__ == "__main__":
    main("fuzz_readers", "Tables through the readers and the commands.", PARTS, _warm_up)
