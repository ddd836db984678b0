"""Generated and damaged tables through the readers and the commands: a result, or one line.

    python benchmarks/fuzz_readers.py --json docs/benchmarks/fuzz_readers.json --minutes 30
    python benchmarks/fuzz_readers.py --quick                        # a minute

A run with ``--json`` goes on where an earlier one with this seed has stopped. A case is a fault if
it ends in a traceback, in a message of more than one printable line, after more than 10 s, or with
more memory than 10 bytes a byte of the (unpacked) file and 128 MiB.
"""

import argparse
import contextlib
import gzip
import io
import tempfile
import warnings
import zlib
from pathlib import Path

import numpy as np
from _fuzz_files import (
    damaged_file,
    generated_columns,
    generated_csv,
    generated_json,
    generated_parquet,
    generated_svmlight,
    good_frame,
    svmlight,
)
from _fuzzing import Batch, damaged, report, run, run_batch

MANY = {"damaged": 70_000, "generated": 25_000, "strategies": 5_000, "train and rank": 2_000}
MANY |= {"compare": 200}
FEW = {"damaged": 500, "generated": 300, "strategies": 100, "train and rank": 20, "compare": 3}
SIZES = {"damaged": 700, "generated": 250, "strategies": 50, "train and rank": 20, "compare": 2}

_GENERATORS = (generated_csv, generated_csv, generated_svmlight, generated_parquet, generated_json)


def _options_for(suffix: str, rng: np.random.Generator) -> dict[str, str]:
    options = {"relevance": "graded"} if rng.random() < 0.15 else {}
    if ".svm" in suffix:
        options["target"] = "target"
    if rng.random() < 0.1:
        options["encoding"] = ("latin-1", "utf-16-le", "utf-16", "cp1252", "utf-7")[rng.integers(5)]
    if rng.random() < 0.05:
        options["sep"] = (",", ";", "tab", " ")[rng.integers(4)]
    return options


def _reading(folder: Path, suffix: str, content: bytes, rng: np.random.Generator):
    path = folder / f"table{suffix}"
    path.write_bytes(content)
    options = {"target": "y", **_options_for(suffix, rng)}
    return (lambda: _read_with(path, options)), _unpacked(content)


def _read_with(path: Path, options: dict[str, str]) -> str:
    from sklearn_rank.cli import _main
    from sklearn_rank.cli._tables.dataset import training_data
    from sklearn_rank.cli._tables.options import Reading, TableOptions

    try:
        how = {name: options[name] for name in options.keys() & {"encoding", "sep"}}
        roles = {name: options[name] for name in options.keys() - how.keys()}
        training_data(TableOptions(data=str(path), reading=Reading(**how), **roles), [])
    except (_main.InputError, OSError, UnicodeEncodeError) as error:
        return _main.one_line(_main._explain(error))
    return ""


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


def strategies_case(rng: np.random.Generator, folder: Path):
    """Read a file of an example of Hypothesis."""
    suffix, content = _example(int(rng.integers(2**63)))
    return _reading(folder, suffix, content, rng)


def _example(seed: int) -> tuple[str, bytes]:
    """Return the last of a few examples of the strategies; the first ones are the simplest."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    word = st.text(max_size=8) | st.sampled_from(
        ["1", "-2.5", "1e9", "yes", "no", '"', "a,b", "NaN"]
    )
    word |= st.floats().map(repr) | st.integers().map(str) | st.datetimes().map(str)
    entry = st.tuples(st.integers(0, 2**32) | st.integers(1, 9), word).map("{0[0]}:{0[1]}".format)
    rows = st.lists(st.lists(entry, max_size=5), max_size=9)
    letor = rows.map(lambda rows: "\n".join(" ".join(["1", *row]) for row in rows))
    table = st.integers(1, 5).flatmap(
        lambda width: st.lists(
            st.lists(word, min_size=width, max_size=width), min_size=1, max_size=12
        )
    )
    text = st.tuples(table, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n", "\r"]))
    lines = text.map(
        lambda one: one[2].join(one[1].join([*r, "yn"[i % 2]]) for i, r in enumerate(one[0]))
    )
    head = st.tuples(st.just("a,b,c\ta;y\n") | st.just("c;y\n") | st.text(max_size=9), lines)
    found: list[tuple[str, bytes]] = []
    files = st.tuples(st.just(".csv"), head.map("".join)) | st.tuples(st.just(".svm"), letor)
    files |= st.tuples(st.sampled_from([".csv", ".svm", ".txt", ".jsonl"]), st.text())

    @seeded(seed)
    @settings(
        database=None, max_examples=3, phases=[Phase.generate], suppress_health_check=HealthCheck
    )
    @given(files)
    def collect(one):
        found.append((one[0], one[1].encode(errors="surrogatepass")))

    collect()
    return found[-1]


def _table_for_commands(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return a table that is mostly good enough to fit a ranker to."""
    match rng.integers(6):
        case 0:
            return ".svm", svmlight(40, int(rng.integers(1000)), queries=bool(rng.integers(2)))
        case 1:
            suffix, content = damaged_file(rng)
            return suffix, content
        case 2:
            import pandas as pd

            file = io.BytesIO()
            pd.DataFrame(generated_columns(rng, 30)).to_parquet(file, engine="pyarrow")
            return ".parquet", file.getvalue()
        case 3:
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
    options = [f"--{key}={value}" for key, value in _options_for(suffix, rng).items()]
    target = [] if ".svm" in suffix else ["--target", "y"]
    words = ["train", str(data), *target, *options, "--ranker", ranker, *few, "-o", str(model)]

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


CASES = {
    "damaged": damaged_case,
    "generated": generated_case,
    "strategies": strategies_case,
    "train and rank": train_and_rank_case,
    "compare": compare_case,
}


def main() -> None:
    """Run the parts, or a batch of one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after the batch then run")
    parser.add_argument("--quick", action="store_true", help="a few cases of each part")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--json", type=Path, help="the report, which a later run goes on with")
    parser.add_argument("--batch", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        part, start, stop, mark = options.batch
        _warm_up()
        run_batch(CASES[part], Batch(part, int(start), int(stop)), options.seed, Path(mark))
        return
    many = FEW if options.quick else MANY
    parts = {part: (CASES[part], many[part], SIZES[part]) for part in options.only}
    found = None
    for done in run(Path(__file__), parts, options.seed, options.minutes, options.json):
        found = report(
            "fuzz_readers", "Tables through the readers and the commands.", options.seed, done
        )
        if options.json is not None:
            found.save(options.json)
    print(found.text())


def _warm_up() -> None:
    """Read good files once: what imports take is no case's memory or time."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(20):
            for make in (damaged_file, generated_parquet):
                suffix, content = make(rng)
                path = Path(folder, f"{number}{suffix}")
                path.write_bytes(content)
                with contextlib.suppress(Exception):
                    _read_with(path, {"target": "y"})


if __name__ == "__main__":
    main()
