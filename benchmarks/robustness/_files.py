"""Files for the readers: good ones of every kind, generated odd ones, and damaged ones."""

import csv
import gzip
import io
from functools import cache

import numpy as np
from robustness._fuzzing import damaged

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252")
_NAMES = ("x1", "age", "qid", "id", "Name", "", " a ", "y ", "score", "rank", "é", "1", "a,b")
_TEXTS = ("Oslo", "Rome", "a b", "NA", "", "?", "-", "true", "é", "x" * 50, 'say "no"', "l\nm")
_NUMBERS = (
    *("0", "-1", "1e5", "1e-300", "1e300", "1e400", "nan", "inf", "1,5", "1.234,5", "007", "12%"),
    *("$3", "(4)", "9" * 30, "\N{ARABIC-INDIC DIGIT ONE}", "1_0", "0x1F", "+5", "1e", ".5", "5."),
)
_DATES = (
    *("2024-01-31", "31/01/2024", "01/02/2024", "2024-02-30", "0001-01-01", "99999-01-01", "12:30"),
    *("2024-01-31T10:00:00Z", "3 days", "2024-01", "1 Jan 2024", "2262-04-12", "31.01.24"),
)


def good_frame(n_rows: int = 24, seed: int = 0):
    """Return a table with a column of each kind, and a target that numbers of it tell in part."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows).round(3)
    return pd.DataFrame(
        {
            "x1": x,
            "x2": rng.integers(0, 9, n_rows) * 1.5,
            "city": rng.choice(["Oslo", "Rome", "Lima"], n_rows),
            "paid": rng.choice(["true", "false"], n_rows),
            "day": pd.Series(
                pd.Timestamp("2024-01-05") + pd.to_timedelta(rng.integers(0, 99, n_rows), "D")
            ).dt.strftime("%Y-%m-%d"),
            "q": rng.integers(0, 3, n_rows),
            "y": np.where(x + rng.normal(size=n_rows) > 0, "yes", "no"),
        }
    )


def svmlight(n_rows: int = 16, seed: int = 0, *, queries: bool = True) -> bytes:
    """Return a good LETOR file."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n_rows):
        entries = " ".join(
            f"{j}:{value:.3f}" for j, value in enumerate(rng.normal(size=5), start=1)
        )
        lines.append(f"{rng.integers(3)} {f'qid:{i // 4} ' if queries else ''}{entries} # d{i}\n")
    return "".join(lines).encode()


@cache
def good_files() -> dict[str, tuple[bytes, ...]]:
    """Return good files by the suffix that says how they are read."""
    frame = good_frame()
    text = frame.to_csv(index=False)
    packed, book = io.BytesIO(), io.BytesIO()
    typed = frame.assign(
        day=frame["day"].astype("datetime64[us]"), city=frame["city"].astype("category")
    )
    typed.to_parquet(packed, engine="pyarrow")
    plain = io.BytesIO()
    frame.to_parquet(plain, engine="pyarrow", compression=None)
    frame.to_excel(book, index=False)
    lines = frame.to_json(orient="records", lines=True)
    return {
        ".csv": (
            text.encode(),
            frame.to_csv(index=False, sep=";", decimal=",").encode(),
            text.replace("\n", "\r\n").encode("utf-8-sig"),
            text.encode("utf-16"),
            frame.to_csv(index=False, quoting=csv.QUOTE_ALL).encode(),
        ),
        ".tsv": (frame.to_csv(index=False, sep="\t").encode(),),
        ".txt": (text.encode(), svmlight(), frame.to_string(index=False).encode(), lines.encode()),
        ".svm": (svmlight(), svmlight(queries=False)),
        ".parquet": (packed.getvalue(), plain.getvalue()),
        ".jsonl": (lines.encode(), frame.to_json(orient="records").encode()),
        ".xlsx": (book.getvalue(),),
        ".csv.gz": (gzip.compress(text.encode(), mtime=0),),
        ".svm.gz": (gzip.compress(svmlight(), mtime=0),),
    }


_SHARES = {".csv": 35, ".tsv": 5, ".txt": 10, ".svm": 25, ".parquet": 16, ".jsonl": 5, ".xlsx": 1}
_SHARES |= {".csv.gz": 2, ".svm.gz": 1}


def damaged_file(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return a suffix, and a good file with faults."""
    kinds = good_files()
    share = np.array([_SHARES[kind] for kind in kinds], dtype=float)
    kind = list(kinds)[int(rng.choice(len(kinds), p=share / share.sum()))]
    content = kinds[kind][int(rng.integers(len(kinds[kind])))]
    every = [one for files in kinds.values() for one in files]
    suffix = kind if rng.random() < 0.95 else list(kinds)[int(rng.integers(len(kinds)))]
    if kind.endswith(".gz") and rng.random() < 0.7:
        return suffix, gzip.compress(damaged(gzip.decompress(content), rng, every[0]), mtime=0)
    return suffix, damaged(content, rng, every[int(rng.integers(len(every)))])


def _cells(rng: np.random.Generator, n_rows: int) -> list[str]:
    """Return a column: numbers, or texts of a few kinds, with exceptions."""
    pools = (_TEXTS, _NUMBERS, _DATES, _TEXTS[:2], ("true", "false", ""), ("0", "1"))
    match rng.integers(9):
        case 0 | 1 | 2:
            scale = 10.0 ** rng.integers(-3, 4)
            cells = [f"{value:.4g}" for value in scale * rng.normal(size=n_rows)]
        case 3:
            cells = [str(value) for value in rng.integers(-9, 99, n_rows)]
        case kind:
            pool = pools[int(kind) % len(pools)]
            cells = [pool[i] for i in rng.integers(len(pool), size=n_rows)]
    if rng.random() < 0.2:
        every = [text for pool in pools for text in pool]
        cells[int(rng.integers(n_rows))] = every[int(rng.integers(len(every)))]
    return cells


def generated_columns(rng: np.random.Generator, n_rows: int) -> dict[str, list[str]]:
    """Return columns of text below odd names, and a target."""
    columns = {}
    for j in range(int(rng.integers(1, 6))):
        name = _NAMES[int(rng.integers(len(_NAMES)))] if rng.random() < 0.5 else f"c{j}"
        columns[name] = _cells(rng, n_rows)
    classes = [("yes", "no"), ("0", "1"), ("1.0", "0.0"), ("a", "b", "c"), ("TRUE", "FALSE")]
    chosen = classes[min(int(rng.integers(8)), 4)] if rng.random() < 0.95 else _NUMBERS
    columns["y"] = [chosen[i] for i in rng.integers(len(chosen), size=n_rows)]
    return columns


def generated_csv(rng: np.random.Generator, n_rows: int | None = None) -> tuple[str, bytes]:
    """Return a table as delimited text, now and then with a fault that people make."""
    n_rows = int(rng.integers(0, 40)) if n_rows is None else n_rows
    columns = generated_columns(rng, n_rows) if n_rows else {"a": [], "y": []}
    sep = ",;\t|"[int(rng.integers(4))]
    end = ("\n", "\r\n", "\r")[min(2, int(rng.integers(5)))]
    quoting = csv.QUOTE_ALL if rng.random() < 0.2 else csv.QUOTE_MINIMAL
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=sep, lineterminator=end, quoting=quoting)
    names = list(columns)
    if rng.random() < 0.05:
        names[-1:] = [names[0]]  # a name that is there twice
    writer.writerow(names)
    writer.writerows(zip(*columns.values(), strict=True))
    content = _with_habits(text.getvalue(), sep, end, rng)
    encoding = ENCODINGS[int(rng.integers(len(ENCODINGS)))] if rng.random() < 0.3 else "utf-8"
    packed = content.encode(encoding, errors="replace")
    return (".csv.gz", gzip.compress(packed, mtime=0)) if rng.random() < 0.05 else (".csv", packed)


def _with_habits(text: str, sep: str, end: str, rng: np.random.Generator) -> str:
    """Return text with comments, empty lines, mixed line ends, long lines or NUL bytes."""
    kinds = [
        f"# by hand{end}{end}{text}",
        text.replace(end, sep + end),
        text.replace(end, "\n", 3).replace("\n", "\r\n", 1),
        text + sep * 3 + end + "total" + sep + "1" + end,
        text + "x" * int(rng.integers(1, 200_000)) + end,
        text.replace(sep, sep + "\0", 1),
        text + '"never closed' + end,
        text.replace("\n", "\v\n", 2).replace(sep, sep + "\u2028", 1),
    ]
    return kinds[int(rng.integers(len(kinds)))] if rng.random() < 0.6 else text


def generated_svmlight(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return a LETOR file with odd numbers, indices and queries here and there."""
    odd = rng.random() < 0.5
    lines = []
    queries = rng.random() < 0.6
    for i in range(int(rng.integers(0, 30))):
        index, words = 0 if odd else 1, [str(int(rng.integers(3)))]
        if queries:
            words.append(f"qid:{i // 5}")
        for _ in range(int(rng.integers(0, 6))):
            index += int(rng.integers(1, 3)) * (
                10 ** int(rng.integers(9)) if rng.random() < 0.02 else 1
            )
            words.append(f"{index}:{rng.normal():.3g}")
        if odd and rng.random() < 0.1:
            choice = (*_NUMBERS, "qid:-1", "qid:1.5", f"qid:{'9' * 20}", "3:", ":3", "-1:2", "#")
            words[int(rng.integers(len(words)))] = choice[int(rng.integers(len(choice)))]
        lines.append(" ".join(words))
    return ".svm", ("\r\n" if rng.random() < 0.1 else "\n").join(lines).encode()
