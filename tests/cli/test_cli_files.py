"""Odd files: each is read as meant, with notes, or refused in one sentence; never misread."""

import gzip
import io
import json
import lzma
import re
import unicodedata
import zipfile
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import partial, reduce

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyarrow import ArrowNotImplementedError

from sklearn_rank.cli._tables.dataset import model_data, training_data
from sklearn_rank.cli._tables.inputs import InputError, count
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.cli._tables.reading import read_table

N = 60
RNG = np.random.default_rng(0)
Y = np.where(RNG.random(N) < 0.5, "yes", "no")
X = RNG.permutation(N) * 37.5 + 11.25
SHUFFLED = RNG.permutation(N)
SETTINGS = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=6
)


def table(**columns):
    """Return a table of a harmless feature, the given columns, and a target."""
    return pd.DataFrame({"other": np.round(RNG.normal(size=N), 3), **columns, "y": Y})


def csv(sep=",", encoding="utf-8", **columns):
    return table(**columns).to_csv(index=False, sep=sep).encode(encoding)


def german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def lines(header, row, n=N, end="\n"):
    """Return a file whose rows are `row(i, class)`."""
    return end.join([header, *(row(i, Y[i]) for i in range(n)), ""]).encode()


def write_as(folder, end, frame):
    path = folder / f"t.{end}"
    writers = {
        "csv": lambda: frame.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "xlsx": lambda: frame.to_excel(path, index=False),
    }
    writers[end]()
    return str(path)


def as_excel(path, frame, **how):
    frame.to_excel(path, index=False, **how)


def as_workbook(path, frame):
    with path.open("wb") as file:
        frame.to_excel(file, index=False)


def two_sheets(path):
    with pd.ExcelWriter(path) as book:
        table().to_excel(book, sheet_name="rows", index=False)
        table().to_excel(book, sheet_name="old", index=False)


def after_blanks(path):
    """Write a sheet without a cell, one with a cell of no text, and one with blank rows above."""
    with pd.ExcelWriter(path) as book:
        pd.DataFrame().to_excel(book, sheet_name="nothing", index=False)
        pd.DataFrame({"": [None, ""]}).to_excel(book, sheet_name="blank", index=False)
        table(c=CITY).to_excel(book, sheet_name="rows", index=False, startrow=3)
        table().to_excel(book, sheet_name="old", index=False)


def as_json(path, nested=False, encoding="utf-8"):
    frame = table(flag=SHUFFLED % 2 == 0, c=[f"{c}\u2028é\x85" for c in CITY])
    rows = [{**row, **({"tags": ["a"]} if nested else {})} for row in frame.to_dict("records")]
    path.write_bytes("\r\n".join(json.dumps(r, ensure_ascii=False) for r in rows).encode(encoding))


def letor(path, sizes, end=".query"):
    path.write_text("".join(f"{i % 3} 1:{i}.5 2:{(7 * i) % 5}\n" for i in range(N)))
    path.with_name(path.name + end).write_text("\n".join(map(str, sizes)))


DATES = pd.Series(pd.to_datetime("2023-11-03 10:20:30") + pd.to_timedelta(17 * SHUFFLED, unit="D"))
CITY = RNG.choice(["Oslo", "Rome", "Lima"], N)


def case(content, kinds, *parts, **options):
    """A file (bytes, or a function that writes it), its kinds of columns, and parts of notes."""
    return content, options, kinds, parts


def refused(content, sentence, **options):
    """A file and the sentence of the error."""
    return content, options, sentence


READ = {
    "row numbers from 0": case(csv(n=np.arange(N)), {"n": None}, "'n' is not used", "--keep n"),
    "integers in step": case(csv(n=1000 + 7 * np.arange(N)), {"n": None}, "row numbers"),
    "row numbers kept": case(csv(n=np.arange(N)), {"n": "number"}, keep=["n"]),
    "unnamed first": case(table().to_csv().encode(), {"Unnamed: 0": None}, "has no name"),
    "a cell more": case(
        table().to_csv().encode()[1:], {"Unnamed: 0": None}, "the first is a row name"
    ),
    "unnamed shuffled": case(
        table().sample(frac=1, random_state=0).to_csv().encode(),
        {"Unnamed: 0": None},
        "--keep 'Unnamed: 0'",
    ),
    "shuffled integers stay": case(csv(v=SHUFFLED), {"v": "number"}),
    "ids": case(csv(id=[f"k{i}x" for i in SHUFFLED]), {"id": None}, "like an id"),
    "ids kept": case(csv(id=[f"k{i}" for i in SHUFFLED]), {"id": "category"}, keep=["id"]),
    "mail addresses": case(
        csv(mail=[f"jo.de.la.cruz{i}@mail.com" for i in SHUFFLED]), {"mail": None}, "like an id"
    ),
    "account numbers": case(
        csv(accountNo=RNG.integers(10**7, 10**8, N)),
        {"accountNo": None},
        "its name is typical of ids, and its integers differ in nearly every row",
    ),
    "account numbers unnamed": case(
        csv(v=RNG.integers(10**7, 10**8, N)),
        {"v": "number"},
        "contains long integers, like ids, but is read as numbers; --category v",
    ),
    "account numbers with zeros": case(
        csv(v=[f"{i:07}" for i in RNG.choice(10**6, N, replace=False)]), {"v": None}, "like an id"
    ),
    "zip codes with zeros": case(
        csv(v=[f"{i % 9 * 1001:05}" for i in SHUFFLED]),
        {"v": "category"},
        "numbers with leading zeros, such as",
        "--keep v makes them amounts",
    ),
    "zeros kept": case(
        csv(v=[f"{i % 9 * 1001:05}" for i in SHUFFLED]), {"v": "number"}, keep=["v"]
    ),
    "months with zeros stay": case(csv(v=[f"{1 + i % 12:02}" for i in SHUFFLED]), {"v": "number"}),
    "zip codes by name": case(
        csv(zip_code=10_115 + SHUFFLED % 9),
        {"zip_code": "number"},
        "has a name typical of codes, but is read as numbers; --category zip_code",
    ),
    "free text": case(
        csv(
            v=[
                f"{c} was very good, {y}, no. {i}"
                for i, c, y in zip(SHUFFLED, CITY, Y, strict=True)
            ]
        ),
        {"v": "category"},
        "'v' has 60 distinct texts, such as '",
        "', encoded by character n-grams; --drop v leaves it out",
    ),
    "dates with and without times": case(
        csv(d=[d.strftime(["%d.%m.%Y", "%d.%m.%Y %H:%M"][i % 2]) for i, d in enumerate(DATES)]),
        {"d": "date"},
    ),
    "first of month": case(
        csv(d=[f"01/{1 + i % 12:02}/2024" for i in range(N)]),
        {"d": "date"},
        "'01/01/2024' is read as 01 January 2024",
    ),
    "day or month": case(
        csv(d=[f"{1 + i % 11:02}/{1 + i % 12:02}/2024" for i in range(2, N + 2)]),
        {"d": "date"},
        "'03/03/2024' is read as 03 March 2024; if day and month are the other way",
    ),
    "short years last": case(
        csv(d=[f"{1 + i % 28:02}.07.25" for i in range(N)]),
        {"d": "date"},
        "'28.07.25' is read as 28 July 2025",
    ),
    "ordinals": case(csv(c=[["1st", "2nd"][i % 2] for i in SHUFFLED]), {"c": "category"}),
    "underscores": case(csv(x=[f"{1000 + 7 * i:_}" for i in SHUFFLED]), {"x": "number"}, "is read"),
    "missing dates": case(
        csv(d=DATES.dt.strftime("%d/%m/%Y").where(SHUFFLED > 5, "n/a")), {"d": "date"}
    ),
    "durations": case(
        csv(t=[f"{i % 24}:{i % 60:02}" for i in SHUFFLED]),
        {"t": "number"},
        "is read as",
        " seconds",
    ),
    "whole numbers beyond 64 bits": case(
        csv(b=[str(2**70 * int(i)) for i in SHUFFLED]), {"b": "number"}, "long integers, like ids"
    ),
    "whole numbers that are one float": case(
        csv(b=[str(2**70 + int(i)) for i in SHUFFLED]),
        {"b": "number"},
        "column 'b' holds one value only",
    ),
    "decimal comma given": case(
        csv(x=[f"{v:.3f}".replace(".", ",") for v in X]), {"x": "number"}, "is read as", decimal=","
    ),
    "missing words": case(
        csv(x=[["-", "?", "none", "N/A", "null", f"{v}"][min(i % 9, 5)] for i, v in enumerate(X)]),
        {"x": "number"},
        "'-' and '?' and 'none' is read as missing",
    ),
    "missing category": case(csv(c=np.where(SHUFFLED < 5, "?", CITY)), {"c": "category"}, "'?'"),
    "numbers and a word": case(
        csv(c=np.where(SHUFFLED % 5 == 0, "more", (SHUFFLED % 3).astype(str))),
        {"c": "category"},
        "', treated as categories; --drop c leaves it out",
    ),
    "years and a slip": case(
        csv(c=["~5", *(f"{1 + i % 3} year{'s' * (i % 3 > 0)}" for i in range(1, N))]),
        {"c": "category"},
        "'c' contains codes such as '~5', treated as categories",
    ),
    "halves of years": case(
        csv(c=[f"20{20 + i % 4}H{1 + i % 2}" for i in range(N)]),
        {"c": "category"},
        "'c' contains codes such as '2020H1', treated as categories",
    ),
    "blanks in numbers": case(
        lines("a b y", lambda i, y: f"{X[i]}  {1 + i}\u202f{i % 7 + 100} {y}"),
        {"a": "number", "b": "number"},
        "'b': '10\\u202f102' is read as 10102",
        sep="blank",
    ),
    "separators of lines in cells": case(
        lines("a,c,y", lambda i, y: f"{X[i]},{CITY[i]}\u2028{CITY[i - 1]}\x0b\x85,{y}"),
        {"c": "category"},
    ),
    "country NA": case(
        csv(c=np.where(SHUFFLED < 5, "NA", CITY)), {"c": "category"}, "'NA' is read"
    ),
    "declared category": case(
        csv(c=np.where(SHUFFLED < 30, "?", "NA")), {"c": "category"}, category=["c"]
    ),
    "booleans": case(csv(b=np.where(SHUFFLED < 30, "TRUE", "false")), {"b": "boolean"}),
    "missing as said": case(
        csv(x=np.where(SHUFFLED < 20, "unknown", X.astype(str)), z=np.where(SHUFFLED < 9, -9, X)),
        {"x": "number", "z": "number"},
        missing=["unknown", "-9"],
    ),
    "no header": case(
        table(c=CITY).to_csv(index=False, header=False).encode(),
        {"c1": "number", "c2": "category"},
        no_header=True,
        target="c3",
    ),
    "excel.csv": case(lambda p: as_workbook(p, table(c=CITY)), {"c": "category"}),
    "text.parquet": case(csv(c=CITY), {"c": "category"}),
    "pretty.json": case(
        lambda p: table(c=CITY).to_json(p, orient="records", indent=2), {"c": "category"}
    ),
    "names again with blanks": case(
        lines("a, c ,y", lambda i, y: "a, c , y" if i == 9 else f"{X[i]},{CITY[i]},{y}"),
        {"a": "number", "c": "category"},
        "dropped 1 repeated header line",
    ),
    "repeated and dropped": case(
        b"other,a,a,y\n" + lines("", lambda i, y: f"{X[i]},1,2,{y}"),
        {"other": "number", "a": None},
        drop=["a"],
    ),
    "semicolons": case(csv(sep=";", c=CITY), {"c": "category"}),
    "tabs": case(csv(sep="\t", c=CITY), {"c": "category"}),
    "blanks": case(csv(sep=" ", c=CITY), {"c": "category"}, sep="blank"),
    "commas in text": case(csv(sep=";", c=[f"{c}, {i % 2}" for i, c in enumerate(CITY)]), {}),
    "given separator": case(csv(sep="^", c=CITY), {"c": "category"}, sep="^"),
    "bom": case(csv(encoding="utf-8-sig", c=CITY), {"other": "number"}),
    "utf-16": case(csv(encoding="utf-16", c=CITY), {"other": "number"}),
    "latin-1": case(csv(encoding="latin-1", é=CITY), {"é": "category"}, encoding="latin-1"),
    "crlf": case(lines("a,c,y", lambda i, y: f"{X[i]},{CITY[i]},{y}", end="\r\n"), {}),
    "newlines in cells": case(csv(c=[f"{c}\nroad, {i % 2}" for i, c in enumerate(CITY)]), {}),
    "trailing separators": case(
        lines("a,c,y", lambda i, y: f"{X[i]},{CITY[i]},{y},"), {"a": "number"}
    ),
    "comments": case(
        b"# made by hand\n\n" + lines("a,y", lambda i, y: f"{X[i]},{y}") + b"# the end\n",
        {"a": "number"},
        "skipped 2 comments",
    ),
    "empty rows": case(
        lines("a,y", lambda i, y: f"{X[i]},{y}") + b",\n\n,\n",
        {"a": "number"},
        "skipped 2 empty rows",
    ),
    "blanks around": case(
        lines("a , c, y", lambda i, y: f"{X[i]}, {CITY[i]} ,{y} "), {"c": "category"}
    ),
    "unlabelled": case(
        csv(c=CITY).replace(b",yes\n", b",\n", 3),
        {},
        "skipped 3 rows without a value of 'y'",
        skip_unlabelled=True,
    ),
    "rows.xlsx": case(lambda p: as_excel(p, table(d=DATES, c=CITY)), {"d": "date"}),
    "text.xlsx": case(
        lambda p: as_excel(p, table(v=[*map(str, X[:-1]), "-"])),
        {"v": "number"},
        "'-' is read as missing",
    ),
    "sheets.xlsx": case(two_sheets, {"other": "number"}, "sheet 'rows' is read, not 'old'"),
    "rows.jsonl": case(as_json, {"flag": "boolean"}),
    "blanks.xlsx": case(
        after_blanks,
        {"other": "number", "c": "category"},
        "sheet 'rows' is read, not 'nothing', 'blank', 'old'",
    ),
    "utf-16.jsonl": case(lambda p: as_json(p, encoding="utf-16"), {"flag": "boolean"}),
    "codes.parquet": case(
        lambda p: table(c=[f"{i % 7:03}" for i in SHUFFLED]).to_parquet(p),
        {"c": "category"},
        "are stored as text, and treated as categories",
    ),
    "zones.parquet": case(
        lambda p: table(d=DATES.dt.tz_localize("Europe/Oslo")).to_parquet(p), {"d": "date"}
    ),
    "spans.parquet": case(lambda p: table(t=DATES - DATES.min()).to_parquet(p), {"t": "number"}),
    "index.parquet": case(
        lambda p: table(c=CITY).set_index(["c", "other"]).to_parquet(p),
        {"c": "category", "other": "number"},
    ),
    "index named as a column.parquet": case(
        lambda p: table(c=CITY).set_index("c", drop=False).to_parquet(p),
        {"c": "category", "__index_level_0__": None},
    ),
    "packed.csv.gz": case(gzip.compress(csv(c=CITY)), {"c": "category"}),
    "leak by number": case(
        csv(x=(Y == "yes") + 0.001 * X / X.max()),
        {"x": "number"},
        "'x' alone orders the rows with an AUC of 1.0000: likely a leak",
        "--drop x",
    ),
    "leak by category": case(csv(c=np.where(Y == "yes", "in", "out")), {}, "likely a leak"),
    "leak by gaps": case(
        csv(x=np.where(Y == "yes", "", "1.5")),
        {},
        "is filled in for 0 % of the rows on top and 100 %",
    ),
    "spaces in the target": case(csv(c=CITY).replace(b",yes\n", b", yes \n", 9), {"c": "category"}),
}

REFUSED = {
    "empty": refused(b"", "is empty"),
    "blank": refused(b" \n\n", "is empty"),
    "no rows": refused(b"a,y\n", "contains no rows"),
    "no header": refused(
        lines("5.1,3.5,no", lambda i, y: f"{X[i]},{i % 7},{y}"),
        "the first line contains data (5.1, 3.5, no), not column names",
    ),
    "numbers only": refused(lines("1,2", lambda i, y: f"{i},{i % 2}"), "first line contains data"),
    "repeated names": refused(
        b"a,b,a,y\n1,2,3,4\n", "column 'a' occurs 2 times; rename all but one, or --drop them"
    ),
    "short row": refused(
        lines("a,b,y", lambda i, y: f"{i},{y}" if i == 7 else f"{i},2,{y}"),
        "line 9: has 2 cells, the header has 3",
    ),
    "long row": refused(
        lines("a,b,y", lambda i, y: f"1,5,2,{y}" if i == 7 else f"{i},2,{y}"),
        "line 9: has 4 cells, the header has 3",
    ),
    "another separator": refused(
        b"other;y;z\n" + csv(sep="|"),
        "line 2: has 1 cell, the header has 3; cells are separated by ';' (--sep MARK",
        sep=";",
    ),
    "names in Parquet": refused(
        lambda p: table().to_parquet(p),
        "--no-header is for CSV and Excel; this format names columns",
        no_header=True,
    ),
    "no such column": refused(csv(), "no column 'y' for --target", no_header=True),
    "open quote": refused(
        b'a,y\n1,0\n"2,1\n3,0\n', "line 3: a quotation mark is misplaced or never closed"
    ),
    "latin-1 unnamed": refused(csv(encoding="latin-1", é=CITY), "--encoding cp1252, or latin-1"),
    "unknown encoding": refused(csv(), "--encoding klingon: unknown", encoding="klingon"),
    "long separator": refused(csv(), "--sep ::: must be one character", sep="::"),
    "typing error": refused(
        csv(x=["12 kg" if i == 7 else f"{v}" for i, v in enumerate(X)]),
        "column 'x' holds numbers in 59 of 60 values, but row 8 holds '12 kg': correct it, or use "
        "--missing, --drop or --category",
    ),
    "both marks": refused(
        csv(x=[f"{v:.1f}".replace(".", ".,"[i % 2]) for i, v in enumerate(X)]),
        "column 'x' holds numbers in 30 of 60 values, but row",
    ),
    "two currencies": refused(
        csv(x=[f"{'$€'[i % 2]}{v:.0f}" for i, v in enumerate(X)]),
        "column 'x' holds amounts in $, €",
    ),
    "marks that are not clear": refused(
        lines("x;y", lambda i, y: f"{['1.125', '1.375', '1', '2'][i % 4]};{y}"),
        "holds numbers whose decimal mark is not clear, but row 1 holds '1.125', 1.125 by "
        "--decimal . and 1125 by --decimal ,",
    ),
    "date with a slip": refused(
        csv(d=["soon" if i == 7 else f"2024-01-{1 + i % 28:02}" for i in range(N)]),
        "column 'd' holds dates in 28 of 29 values, but row 8 holds 'soon'",
    ),
    "day first and month first": refused(
        csv(d=[d.strftime(["%d/%m/%Y", "%m/%d/%Y"][i % 2]) for i, d in enumerate(DATES)]),
        "column 'd' holds dates in 43 of 60 values, but row 4 holds",
    ),
    "duration with a slip": refused(
        csv(t=["soon" if i == 7 else f"{i % 24}:{i:02}" for i in range(N)]),
        "column 't' holds durations in 59 of 60 values, but row 8 holds 'soon'",
    ),
    "infinite": refused(csv(x=["inf", *X[1:]]), "must hold finite numbers, but row 1 holds 'inf'"),
    "unlabelled": refused(csv().replace(b",yes\n", b",\n", 3), "--skip-unlabelled skips them"),
    "constant target": refused(csv().replace(b",yes\n", b",no\n"), "has only one class (no)"),
    "three classes": refused(csv().replace(b",yes\n", b",maybe\n", 3), "3 values (maybe, no, yes)"),
    "regression": refused(csv(c=CITY, price=X), "60 values", target="price"),
    "date as target": refused(csv(d=DATES.dt.strftime("%Y-%m-%d")), "has 60 values", target="d"),
    "no such target": refused(csv(), "no column 'Y' for --target; did you mean 'y'?", target="Y"),
    "nested.jsonl": refused(lambda p: as_json(p, nested=True), "'tags' contains nested values"),
    "twice.jsonl": refused(b'{"a": 1, "b": 2, "a": 3}\n', "an object has the key 'a' twice"),
    "broken.jsonl": refused(b'{"a": 1,\n', "is not JSON lines, nor a JSON list of objects"),
    "empty.xlsx": refused(lambda p: as_workbook(p, pd.DataFrame()), "no sheet has data"),
    "broken.xlsx": refused(b"PK\3\4 and no more", "is not an Excel workbook"),
    "picture.png": refused(b"\x89PNG", "unknown file type"),
}


def write(folder, name, content):
    path = folder / (name if "." in name else f"{name}.csv")
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return str(path)


def options_for(path, given):
    return TableOptions(**{"data": path, "target": "y", **given})


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_odd_files_are_read_as_meant_and_again(tmp_path, name):
    content, given_options, kinds, parts = READ[name]
    path = write(tmp_path, name, content)
    options, notes = options_for(path, given_options), []
    data = training_data(options, notes)
    for part in parts:
        assert part in "\n".join(notes)
    assert parts or not notes
    for column, kind in kinds.items():
        assert data.schema.kinds.get(column) == kind
    assert set(data.y) == {0, 1}
    if "missing" in given_options:
        assert (data.X[["x", "z"]].isna().sum() == [20, 9]).all()
    assert list(data.X) == list(data.schema.kinds)
    # A model reads the file in the same way; its schema is plain data.
    schema = type(data.schema)(**json.loads(json.dumps(asdict(data.schema))))
    reading = replace(options, missing=())  # which the model knows
    again = model_data(reading, schema, notes := [], labelled=True)
    assert "--category" not in "\n".join(notes)  # an option of training
    pd.testing.assert_frame_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)
    unlabelled = model_data(options, schema, [], labelled=False)
    assert unlabelled.y is None


@pytest.mark.parametrize("name", REFUSED)
def test_odd_files_are_refused_in_a_sentence(tmp_path, name):
    content, given_options, sentence = REFUSED[name]
    options = options_for(write(tmp_path, name, content), given_options)
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        training_data(options, [])
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------------------- values


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "Float32", "float[pyarrow]"])
def test_numbers_of_few_bits_that_mean_missing(tmp_path, kind):
    values = np.where(np.arange(N) % 4 == 0, -99.9, RNG.normal(size=N))
    try:
        path = write_as(tmp_path, "parquet", table(x=pd.array(values, dtype=kind)))
    except ArrowNotImplementedError:
        pytest.skip("older pyarrow writes no float16")
    data = training_data(TableOptions(path, "y", missing=["-99.9", "none", "1e300"]), [])
    np.testing.assert_array_equal(data.X["x"].isna(), np.arange(N) % 4 == 0)
    read = read_table(TableOptions(path), []).frame["x"].to_numpy(np.float64)
    np.testing.assert_array_equal(data.X["x"].dropna(), read[np.arange(N) % 4 != 0])


@pytest.mark.parametrize("code", ["?", "-999,0"])
def test_a_grade_that_is_missing_is_refused(tmp_path, code):
    path = write(tmp_path, "t", csv(sep=";", g=["0,5", "1,5"] * 29 + [code, "1,5"]))
    options = TableOptions(path, "g", relevance="graded", decimal=",", missing=["-999"])
    sentence = f"'g' must hold numbers for --relevance graded, but row 59 holds '{code}'"
    with pytest.raises(InputError, match=re.escape(sentence)):
        training_data(options, [])


HASHES = {
    "in a cell": ('1,"a\n#b c",no\n2,"#d",yes\n', [["a\n#b c", "no"], ["#d", "yes"]]),
    "several in a cell": ('1,"a\n#b,c\n\n#d\n",no\n', [["a\n#b,c\n\n#d", "no"]]),
    "begins a row": ('#1,"Li, Ann",no\n#2,Bo,yes\n', [["Li, Ann", "no"], ["Bo", "yes"]]),
    "begins a row of lines": ('#1,"Li,\n#Ann",no\n', [["Li,\n#Ann", "no"]]),
    "begins a row with one more separator": ("#1,a,no,\n", [["a", "no"]]),
    "comments between": ('# a, "b"\n1,a,no\n#\n#1,2\n2,"\n",yes\n', [["a", "no"], ["", "yes"]]),
    "comment after a cell of lines": ('1,"a\n",no\n# "b\n2,c,yes\n', [["a", "no"], ["c", "yes"]]),
}


@pytest.mark.parametrize("name", HASHES)
def test_only_lines_between_rows_are_comments(tmp_path, name):
    content, expected = HASHES[name]
    notes = []
    path = write(tmp_path, "t", ("id,text,y\n" + content).encode())
    cells = read_table(TableOptions(path), notes).frame
    assert [[cell.strip() for cell in row] for row in cells[["text", "y"]].to_numpy()] == expected
    n_comments = {"comments between": 3, "comment after a cell of lines": 1}.get(name, 0)
    assert notes == [f"{path}: skipped {count(n_comments, 'comment')}"] * (n_comments > 0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("title", ["", "# of the branch\n"])
def test_a_name_may_begin_with_a_hash(tmp_path, encoding, title):
    content = f"#flag,x,y\n{title}" + "".join(
        f"{i % 3 > 0},{i * 7 % 60},{Y[i]}\n" for i in range(N)
    )
    notes = []
    table = read_table(TableOptions(write(tmp_path, "t", content.encode(encoding))), notes)
    assert list(table.frame.columns) == ["#flag", "x", "y"]
    assert (len(table.frame), len(notes)) == (N, bool(title))
    data = training_data(TableOptions(table.path, "y"), [])
    assert list(data.X) == ["#flag", "x"]


def test_queries_in_a_file_beside(tmp_path):
    for end in (".query", ".group"):
        path = tmp_path / f"rank{end}.txt"
        letor(path, [10, 20, 30], end)
        data = training_data(TableOptions(str(path), relevance="graded"), [])
        np.testing.assert_array_equal(np.bincount(data.qid), [10, 20, 30])


@pytest.mark.parametrize("first", [0, 1])
def test_indices_of_new_rows_start_where_those_of_training_do(tmp_path, first):
    values = np.where(RNG.random((N, 3)) < 0.5, RNG.normal(1, 1, (N, 3)).round(3), 0)

    def written(name, values, first):
        rows = [
            " ".join([f"{i % 2}", *(f"{j}:{v}" for j, v in enumerate(row, first) if v)]) + "\n"
            for i, row in enumerate(values)
        ]
        return write(tmp_path, name, "".join(rows).encode())

    data = training_data(TableOptions(written("train.svm", values, first)), [])
    np.testing.assert_array_equal(data.X, values)
    assert data.schema.zero_based is (first == 0)
    schema = type(data.schema)(**json.loads(json.dumps(asdict(data.schema))))
    part = values[values[:, 0] == 0]  # in which nothing has the first index
    new = model_data(TableOptions(written("new.svm", part, first)), schema, [], labelled=False)
    np.testing.assert_array_equal(new.X, part)
    if first:
        other = written("other.svm", values, 0)
        with pytest.raises(InputError, match="has the index 0, where 1 is the first"):
            model_data(TableOptions(other), schema, [], labelled=False)


def test_a_leak_within_queries(tmp_path):
    query = np.arange(N) // 6
    y = (np.arange(N) % 6 < 3).astype(int)
    # Between queries the order is wrong, within each it is that of the target.
    frame = pd.DataFrame({"x": y - 10.0 * query * (-1) ** query, "z": X, "q": query, "y": y})
    path = write(tmp_path, "t", frame.to_csv(index=False).encode())
    notes = []
    training_data(TableOptions(path, "y", qid="q"), notes)
    assert [note for note in notes if "'x' alone" in note]
    notes = []
    training_data(TableOptions(path, "y", drop=["q"]), notes)
    assert notes == []


def test_the_example_tells_its_story():
    notes = []
    data = training_data(TableOptions(), notes)
    assert notes == []
    assert len(data.y) == 5000
    assert "three kinds of defaulters" in data.summary()
    with pytest.raises(InputError, match="requires DATA"):
        training_data(TableOptions(relevance="graded"), notes)


# ---------------------------------------------------------------------------- new files


def trained(folder, **columns):
    path = write(folder, "train", csv(**columns))
    return training_data(TableOptions(path, "y"), []).schema


def read(folder, schema, notes, **columns):
    path = write(folder, "new", csv(**columns))
    return model_data(TableOptions(path), schema, notes, labelled=False)


def test_the_decimal_mark_of_training_is_kept(tmp_path):
    schema = trained(tmp_path, x=[german(v) for v in X], w=SHUFFLED)
    assert schema.decimal == ","
    data = read(tmp_path, schema, [], x=["1.234"] * N, w=["1,5"] * N)
    assert set(data.X["x"]) == {1234.0}
    assert set(data.X["w"]) == {1.5}
    schema = trained(tmp_path, x=X)
    with pytest.raises(InputError, match="row 1 holds '1,5'; --decimal , reads 1,5"):
        read(tmp_path, schema, [], x=["1,5"] * N)
    path = write(tmp_path, "new", csv(x=["1,5"] * N))
    data = model_data(TableOptions(path, decimal=","), schema, [], labelled=False)
    assert set(data.X["x"]) == {1.5}


NOTATIONS_OF = {
    "floats": (["1", "2", "10"], "{}.0".format),
    "integers": (["1.0", "2.0", "10.00"], lambda text: text.partition(".")[0]),
    "zeros in front": (["1", "2", "10"], "0{}".format),
    "no zeros": (["001", "002", "010"], lambda text: text.lstrip("0")),
    "true": (["true", "false"], str.upper),
    "0 and 1": (["True", "False"], lambda text: str(int(text == "True"))),
    "decomposed": (["Åre", "Besançon", "Oslo"], partial(unicodedata.normalize, "NFD")),
    "composed": (["A\u030are", "Besanc\u0327on"], partial(unicodedata.normalize, "NFC")),
    "blanks": (["New York", "Rio de Janeiro"], lambda text: text.replace(" ", "\xa0 ") + "  "),
}


@pytest.mark.parametrize("name", NOTATIONS_OF)
@SETTINGS
@given(seed=st.integers(0, 999))
def test_a_category_in_another_notation_is_the_same(tmp_path, name, seed):
    values, notation = NOTATIONS_OF[name]
    cells = np.random.default_rng(seed).choice(values, N)
    path = write(tmp_path, "train", csv(c=cells))
    train = training_data(TableOptions(path, "y", category=["c"]), [])
    new = read(tmp_path, train.schema, notes := [], c=[*map(notation, cells)])
    assert list(new.X["c"]) == list(train.X["c"])
    assert not [note for note in notes if "'c'" in note]


def test_a_category_that_can_mean_two_is_named(tmp_path):
    codes = np.resize(["7", "07", "8"], N)
    path = write(tmp_path, "train", csv(c=codes))
    schema = training_data(TableOptions(path, "y", category=["c"]), []).schema
    cells = ["7.0", "007", "8.0", "Oslo", *codes[4:]]
    data = read(tmp_path, schema, notes := [], c=cells)
    assert list(data.X["c"]) == ["7", "007", "8", *cells[3:]]
    what = "with values that did not occur in training ('007', 'Oslo'; it had '07', '7', '8')"
    assert f"column 'c': 2 rows {what}" in notes
    with pytest.raises(InputError, match="'c' holds no value that occurred in training"):
        read(tmp_path, schema, [], c=["Oslo"] * N)


# ---------------------------------------------------------------------------- properties

CENTS = st.decimals(-9_999_999, 9_999_999, places=2, allow_nan=False)
NUMBERS = st.lists(CENTS, min_size=20, max_size=30, unique=True)


def indian(digits):
    head, tail = digits[:-3], digits[-3:]
    pairs = [head[max(0, k - 2) : k] for k in range(len(head), 0, -2)][::-1]
    return ",".join([*pairs, tail])


SIGNS = ["-{}", "\u2212{}", "{}-", "{} -", "({})", "- {}"]
MONEY = ["{}", "${}", "R$ {}", "₹{}", "{} €", "CHF {}", "Rs. {}", "{} %", "{} kg", "{}€/m²"]


@st.composite
def notations(draw):
    """Return how a tool writes amounts: groups, decimal mark, sign, currency or unit."""
    mark = draw(st.sampled_from(".,"))
    groups = draw(st.sampled_from(["", ".", ",", "'", "\u2019", " ", "\u00a0", "\u202f", "indian"]))
    assume(groups != mark and (groups != "indian" or mark == "."))
    inner, outer = draw(
        st.permutations([draw(st.sampled_from(SIGNS)), draw(st.sampled_from(MONEY))])
    )

    def write(value):
        whole, cents = f"{abs(value):.2f}".split(".")
        spread = indian(whole) if groups == "indian" else f"{int(whole):,}".replace(",", groups)
        forms = (inner, outer) if value < 0 else (form for form in (inner, outer) if form in MONEY)
        return reduce(lambda text, form: form.format(text), forms, spread + mark + cents)

    return write


FORMS = [
    ("1,84,560 99,999 12,34,56,789", [184_560, 99_999, 123_456_789]),
    ("1,234.50- 2.00 (3.00)", [-1234.5, 2, -3]),
    ("950 1.000.000 -0", [950, 10**6, 0]),
    ("1.000 40.000 7.000", [1, 40, 7]),  # the order is the same by both marks
    ("12.5% 3% 0", [12.5, 3, 0]),
    ("$- $5 $1.2M", [0, 5, 1_200_000]),
    ("250,- 1.250,50", [250, 1250.5]),
    ("250:- 1250:-", [250, 1250]),
    ("7,125E+03 6,335E+04", [7125, 63_350]),
    ("5\u00a0€- 12\u00a0€", [-5, 12]),
    ("28/12/2150 1/3/2155", ["2150-12-28", "2155-03-01"]),
    ("10.4k 1.2M 900", [10_400, 1_200_000, 900]),
    ("1\u00a0year 10\u00a0years", [1, 10]),
    ("Nov-2024 Mai-2023", ["2024-11-01", "2023-05-01"]),
    ("2024Q1 2023Q4", ["2024-01-01", "2023-10-01"]),
    ("01.2024 12.2023", ["2024-01-01", "2023-12-01"]),
    ("2024.3 2023.10 2023.12", ["2024-03-01", "2023-10-01", "2023-12-01"]),
    (" ".join(f"24-01-{d}" for d in range(10, 30)), [f"2024-01-{d}" for d in range(10, 30)]),
    ("20240131T102030Z 20240201T000000Z", ["2024-01-31T10:20:30", "2024-02-01T00:00:00"]),
    ("12:30AM 1:05:30PM", [1800, 47_130]),
]


@pytest.mark.parametrize(("texts", "meant"), FORMS)
def test_forms_of_tools_and_countries(tmp_path, texts, meant):
    cells = texts.split(" ") * 30
    data = training_data(TableOptions(write(tmp_path, "t", csv(x=cells[:N])), "y"), notes := [])
    meant = pd.to_datetime(meant) if isinstance(meant[0], str) else meant
    assert list(data.X["x"]) == (list(meant) * 30)[:N]
    assert any("'x': " in note and "is read as" in note for note in notes) == ("T10" not in texts)


@settings(SETTINGS, max_examples=30)
@given(write=notations(), values=NUMBERS, data=st.data())
def test_a_number_means_the_same_in_every_file(tmp_path, write, values, data):
    values = [float(v) for v in values]
    cells = [write(v) for v in values]
    y = ["yes", "no"] * (len(cells) // 2) + ["no"] * (len(cells) % 2)
    frame = pd.DataFrame({"x": cells, "y": y})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    train = training_data(TableOptions(str(path), "y"), notes := [])
    np.testing.assert_array_equal(train.X["x"], values)
    is_plain = all(re.fullmatch(r"-?\d+\.\d\d", cell) for cell in cells)
    assert any("'x': " in note and "is read as" in note for note in notes) != is_plain
    rows = data.draw(st.lists(st.sampled_from(range(len(cells))), min_size=1))
    frame.iloc[rows].to_csv(path, index=False)
    new = model_data(TableOptions(str(path)), train.schema, [], labelled=False)
    np.testing.assert_array_equal(new.X["x"], np.array(values)[rows])


DAYS = ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d %b %Y", "%d-%b-%Y", "%B %d, %Y"]
DAYS += ["%Y/%m/%d", "%d%b%Y", "%a, %d %b %Y", "%d-%b-%y", "%b-%Y", "%Y-%m", "%m/%Y"]
TIMES = ["", " %H:%M", "T%H:%M:%S", " %I:%M:%S %p", " %H:%M:%S.%f", ":%H:%M:%S", ", %H:%M"]
ZONES = {"": 0, "Z": 0, " UTC": 0, " GMT": 0, "+02:00": 2, " -0500": -5, "+01": 1}


@settings(SETTINGS, max_examples=40)
@given(
    day=st.sampled_from(DAYS),
    time=st.sampled_from(TIMES),
    zone=st.sampled_from(list(ZONES)),
    moments=st.lists(
        st.datetimes(datetime(1971, 1, 1), datetime(2049, 12, 31)), min_size=10, max_size=20
    ),
)
def test_a_date_means_the_same_in_every_file(tmp_path, day, time, zone, moments):
    assume(not zone or time not in ("", " %I:%M:%S %p"))
    assume("%d" in day or not time)
    form = day + time
    cells = [moment.strftime(form) + zone for moment in moments]
    meant = [datetime.strptime(moment.strftime(form), form) for moment in moments]
    if "%y" in day:  # 69 is 1969
        assume(all(moment.year < 2049 for moment in meant))
    y = ["yes", "no"] * (len(cells) // 2) + ["no"] * (len(cells) % 2)
    frame = pd.DataFrame({"d": cells, "z": RNG.normal(size=len(y)), "y": y})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    notes = []
    train = training_data(TableOptions(str(path), "y"), notes)
    if not any("other way round" in note for note in notes):
        is_short = "%y" in day or "%d" not in day
        assert any("'d': " in note for note in notes) == is_short
        assert list(train.X["d"]) == [moment - timedelta(hours=ZONES[zone]) for moment in meant]
    frame.iloc[::3].to_csv(path, index=False)
    new = model_data(TableOptions(str(path)), train.schema, [], labelled=False)
    assert list(new.X["d"]) == list(train.X["d"].iloc[::3])


def zipped(*lines):
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("t.csv", joined(*lines))
    return file.getvalue()


def book(*lines):
    cells = pd.DataFrame([line.split(",") for line in lines])
    cells.to_excel(file := io.BytesIO(), header=False, index=False)
    return file.getvalue()


def joined(*lines):
    return "\n".join([*lines, ""]).encode()


UNITS = "looks like a second header line (or units); remove it"
TOTAL = "Total) looks like a line of totals; remove it"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)
SHORT = "line 1: has 1 cell, most lines have 3"
FAULTS = {  # how a file is made of header h and rows r, and the sentence; None: it is read
    "units": (lambda h, r: joined(h, "[EUR],[-],[0/1]", *r), f"line 2 ([EUR], [-], [0/1]) {UNITS}"),
    "types": (lambda h, r: joined("# a", h, "int,str,str", *r), f"line 3 (int, str, str) {UNITS}"),
    "units.xlsx": (lambda h, r: book(h, "EUR,kg,[0/1]", *r), f"row 2 (EUR, kg, [0/1]) {UNITS}"),
    "none": (lambda h, r: joined(h, *r), None),
    "again": (lambda h, r: joined(h, *r[:9], h, *r[9:]), None),
    "again.xlsx": (lambda h, r: book(h, *r[:9], h, *r[9:]), None),
    "title": (lambda h, r: joined("Loans of May", "", h, *r), SHORT),
    "title.xlsx": (
        lambda h, r: book("Loans,,", h, *r),
        "(Loans) looks like a title above the column names",
    ),
    "total": (lambda h, r: joined(h, *r, "9999,Total,"), f"line 62 (9999, {TOTAL}"),
    "total.xlsx": (lambda h, r: book(h, *r, ",Total,"), f"row 62 ({TOTAL}"),
    "mean": (lambda h, r: joined(h, *r, "30.5,Mean:,"), "line 62 (30.5, Mean:) looks like a line"),
    "data.xlsx": (lambda h, r: book(*r), "the first line contains data ("),
    "footer": (lambda h, r: joined(h, *r, "", "(60 rows)"), "line 63: has 1 cell, the header has"),
    "numbers of R": (lambda h, r: joined(h, *(f"{i},{x}" for i, x in enumerate(r))), None),
    "names of R": (lambda h, r: joined(h, *(f'"k{i}",{x}' for i, x in enumerate(r))), None),
    "commas": (lambda h, r: joined(h, *(f"1,{x}" for x in r)), "line 1: has 3 cells, most lines"),
    "sep": (lambda h, r: joined("sep=;", *(x.replace(",", ";") for x in (h, *r))), None),
    "old.xls": (lambda h, r: OLE, "is an Excel 97-2003 workbook; save it as .xlsx"),
    "a.xlsx": (lambda h, r: OLE + "EncryptedPackage".encode("utf-16-le"), "a password-protected"),
    "zip": (lambda h, r: zipped(h, *r), "is an archive, or a workbook of another kind (t.csv)"),
    "page.xls": (lambda h, r: joined("", "<table>", "<tr>"), "is HTML or XML; save it as .csv"),
    "print": (lambda h, r: b"%PDF-1.7\n%\xe2", "is a document or an image"),
    "xz": (lambda h, r: lzma.compress(joined(h, *r)), "is an archive or a foreign file"),
    "utf-16": (lambda h, r: joined(h, *r).decode().encode("utf-16-be"), "--encoding utf-16-be"),
    "utf-32": (lambda h, r: joined(h, *r).decode().encode("utf-32"), None),
    "columns.json": (None, None),
    "values.json": (None, "rows must be objects, or lists after a list of column names"),
    "table.json": (None, "rows must be objects, or lists after a list of column names"),
}


@pytest.mark.parametrize("name", FAULTS)
@SETTINGS
@given(names=st.permutations(["x", "city", "y"]), seed=st.integers(0, 99))
def test_what_is_wrong_with_a_file_as_a_whole_is_said(tmp_path, name, names, seed):
    frame = pd.DataFrame({"x": np.random.default_rng(seed).permutation(N), "city": CITY, "y": Y})
    frame, (make, sentence) = frame[names], FAULTS[name]
    header, *rows = frame.to_csv(index=False).splitlines()
    content = frame.to_json(orient=name.partition(".")[0]).encode() if make is None else None
    options = TableOptions(write(tmp_path, name, content or make(header, rows)), "y")
    if sentence is None:
        X = training_data(options, []).X
        assert (list(X["x"]), list(X["city"])) == (list(frame["x"]), list(frame["city"]))
    else:
        with pytest.raises(InputError, match=re.escape(sentence)):
            training_data(options, [])


# Groups of four, limits, unknown and several units, other marks, other months, no year, fractions,
# weeks, and times with and without a zone.
UNREAD = ["{1},{4:04},{4:04}", "<{2}.{1}", "Zk {2}.{3:03},{2:02}", "{3}·{1}", "{3} {dc}"]
UNREAD += ["{day}-Jan", "{3} 1/2", "{3} ,", "20{2:02}-W1{1}", "2024-05-{day} 1{1}:00{zone}"]
UNREAD += ["{3} {km}", "0.{3:03}{pc}", "{1}. {month}kuuta 20{2:02}", "20{2:02}-{day}-0{1}"]
# Telephones, zip codes, ranges, versions, addresses, opening hours, houses, invoices, lists.
CODES = ["+49 151 {3} {4:04}", "{1}{4:04}-{4:04}", "{2}-{3}", "{1}.{2}.{1}", "10.{1}.{2}.{3}"]
CODES += ["{1}:00-1{1}:30", "{2}{letter}", "INV-2024-{4:04}", "{1},{1},{1}", "{4:04}E"]
CODES += ["M{1}", "June {letter}"]
WORDS = {"dc": ["DR", "CR"], "km": ["km", "m"], "pc": ["%", ""], "letter": "abcdefg"}
WORDS |= {"zone": ["Z", ""], "day": range(13, 29)}
WORDS["month"] = ["tammi", "helmi", "maalis", "huhti", "touko", "kesä"]


NAMED = ["{2}h{1}0m", "•{3}?{1}-", "№{2};{1}", "{1}€{2}", "FY20{2:02}", "{3} {2}'/0{1}", "{3}..{2}"]


def drawn(pattern, rng):
    """Return texts of a pattern, in which 3 is an integer below 10 ** 3."""
    digits = ([0, *(rng.integers(1, 10**k) for k in range(1, 5))] for _ in range(N))
    texts = ({name: rng.choice([*words]) for name, words in WORDS.items()} for _ in range(N))
    return [pattern.format(*row, **text) for row, text in zip(digits, texts, strict=True)]


@pytest.mark.parametrize("pattern", [*UNREAD, *CODES])
@settings(SETTINGS, max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_what_is_not_read_is_named(tmp_path, pattern, seed):
    cells = drawn(pattern, np.random.default_rng(seed))
    path, notes = write(tmp_path, "t", csv(x=cells)), []
    if pattern in UNREAD:
        refused = r"column 'x' (seems to hold|holds) .*(--drop|--category)"
        with pytest.raises(InputError, match=refused):
            training_data(TableOptions(path, "y"), notes)
    else:
        kinds = training_data(TableOptions(path, "y"), notes).schema.kinds
        assert kinds.get("x", "category") == "category"
        named = [note for note in notes if re.search("'x' .*(not used|n-grams|as cat)", note)]
        assert bool(named) == (pattern[0] not in "MJ")  # which are few words


@pytest.mark.parametrize("pattern", NAMED)
@pytest.mark.parametrize("n_values", [5, N])
def test_a_column_of_an_unknown_form_is_named_with_a_cell(tmp_path, pattern, n_values):
    cells = np.resize(drawn(pattern, np.random.default_rng(0))[:n_values], N)
    path, notes = write(tmp_path, "t", csv(x=cells)), []
    training_data(TableOptions(path, "y"), notes)
    assert any("'x' " in note and repr(str(cell)) in note for note in notes for cell in cells)


LIKE_CODES = {"007": [7, 815, 12], "09.05": [9.05, 23.5], "3E4": [30_000, 12_000]}
LIKE_CODES |= {"+4915112345678": [4915112345678, 33612345678], "005.1": [5.1, 813.54]}


@pytest.mark.parametrize("code", LIKE_CODES)
def test_numbers_that_may_be_codes_are_noted(tmp_path, code):
    cells = np.resize([code, *map(str, LIKE_CODES[code][1:])], N)
    data = training_data(TableOptions(write(tmp_path, "t", csv(x=cells)), "y"), notes := [])
    np.testing.assert_array_equal(data.X["x"], np.resize(LIKE_CODES[code], N))
    what = f"column 'x' contains {code!r}, like a code, but is read as numbers; --category x makes"
    assert any(note.startswith(what) for note in notes)


@pytest.mark.parametrize(
    ("year", "zone", "shown"),
    [
        ("9999", "-05:00", "'9999-12-31T23:00-05:00' is read as 01 January 10000"),
        ("0001", "+02:00", "'0001-12-31T23:00+02:00' is read as 31 December 1"),
    ],
)
def test_the_first_and_the_last_year(tmp_path, year, zone, shown):
    cells = [f"{year}-{day}T23:00{zone}" for day in ("01-01", "12-31")] * (N // 2)
    training_data(TableOptions(write(tmp_path, "t", csv(d=cells)), "y"), notes := [])
    assert any(shown in note for note in notes)


def test_decimal_years_are_no_months(tmp_path):
    path = write(tmp_path, "t", csv(x=[f"{2001 + i % 9}.{1 + i % 4}" for i in range(N)]))
    data = training_data(TableOptions(path, "y"), notes := [])
    assert (data.schema.kinds["x"], notes) == ("number", [])


def test_truth_in_several_notations_is_one(tmp_path):
    path = write(tmp_path, "t", csv(b=np.resize(["TRUE", "false", "1", "0", "True"], N)))
    data = training_data(TableOptions(path, "y"), [])
    assert data.schema.kinds["b"] == "boolean"
    assert list(data.X["b"]) == list(np.resize(["true", "false", "true", "false", "true"], N))


def test_a_single_column_may_hold_its_own_name(tmp_path):
    table = read_table(TableOptions(write(tmp_path, "t", b"city\nOslo\ncity\nBergen\n")), [])
    assert list(table.frame["city"]) == ["Oslo", "city", "Bergen"]


def test_a_note_shows_a_number_with_all_marks(tmp_path):
    cells = ["\u22122201", "\u221239,0609", "7"] * (N // 3)
    training_data(TableOptions(write(tmp_path, "t", csv(x=cells)), "y"), notes := [])
    assert any("'\u221239,0609' is read as -39.0609" in note for note in notes)


def test_weights_have_a_decimal_mark_of_their_own(tmp_path):
    comma, point = (
        [f"{v:.1f}".replace(".", ",") for v in X],
        [f"{1.5 + i % 7} kg" for i in range(N)],
    )
    path = write(tmp_path, "t", csv(sep=";", x=comma, w=point))
    data = training_data(TableOptions(path, "y", weight="w"), [])
    np.testing.assert_array_equal(data.weight, [1.5 + i % 7 for i in range(N)])


@settings(SETTINGS, max_examples=10)
@given(
    values=st.lists(st.integers(1, 999_999), min_size=60, max_size=60, unique=True),
    mark=st.sampled_from(".,"),
    other=st.sampled_from(["0.5", "0,5", "7"]),
)
def test_a_mark_of_thousands_is_known_by_all_cells(tmp_path, values, mark, other):
    values[:15], values[15:30] = range(1001, 1016), range(1, 16)
    cells = [f"{v:,}".replace(",", mark) for v in values]
    path, notes = write(tmp_path, "t", csv(sep=";", x=cells, z=[other] * 30 + ["1"] * 30)), []
    data = training_data(TableOptions(path, "y"), notes)
    np.testing.assert_array_equal(data.X["x"], values)
    assert any("'x': " in note and "--decimal" in note for note in notes)
    for decimals in (1, 2):  # the mark of a number of other length
        cells[40] = f"{mark}".join(["12", "5" * decimals])
        path = write(tmp_path, "t", csv(sep=";", x=cells))
        data = training_data(TableOptions(path, "y"), [])
        assert data.X["x"][40] == float(f"12.{'5' * decimals}")
        assert data.X["x"][0] == 1.001
