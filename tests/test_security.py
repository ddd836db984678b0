"""What SECURITY.md says of files and names that strangers write.

What others write (a model, a card, a table, a name of a column) may give an error or other scores;
it runs no code, reads no other file, and loads nothing from the network.
"""

import csv
import os
import pickle
import shlex
import socket
import sqlite3
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from sklearn_rank.cli import main
from sklearn_rank.scorecard import Card, Variable, to_html, to_sql

ROOT = Path(__file__).parents[1]
HOSTILE = (
    'x"; DROP TABLE t; --',
    "x'); DELETE FROM t; --",
    "<script>alert(1)</script>",
    "]]><!ENTITY a SYSTEM 'file:///etc/passwd'>",
    "=HYPERLINK(1)",
    "\x1b[2J\u202e",
    "{{ 7 * 7 }}{% raw %}",
)


# --- model files ---------------------------------------------------------------------------------


class Planted:
    """What pickle runs when it is loaded."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (Path.touch, (self.marker,))


@pytest.mark.parametrize("name", ["m.skops", "m.pkl", "m.joblib", "m.json"])
def test_the_command_opens_no_pickle(tmp_path, capsys, name):
    marker, model, rows = tmp_path / "marker", tmp_path / name, tmp_path / "t.csv"
    model.write_bytes(pickle.dumps(Planted(marker)))
    rows.write_text("x\n1\n2\n")
    assert main(["rank", str(model), str(rows), "-o", str(tmp_path / "o.csv")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not marker.exists()
    pickle.loads(model.read_bytes())  # it would run
    assert marker.exists()


# --- cards and names -----------------------------------------------------------------------------


def card_of(name):
    """Return a card with a hostile name as variable, as category and as class."""
    return Card(
        (Variable(name, 0, (1, 2, 0), (0.5,)), Variable("c", 1, (1, 2), groups=((name, "b"),))),
        *(0, 0, (name, "good"), 1, (name, "c")),
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_names_run_nothing_in_sql(name):
    """Two tables stay as they are, and the totals are right."""
    card = card_of(name)
    with closing(sqlite3.connect(":memory:")) as database:
        column = '"' + name.replace('"', '""') + '"'
        database.execute(f'CREATE TABLE t ({column}, "c")')
        database.execute("INSERT INTO t VALUES (?, ?)", (0.2, name))
        (row,) = database.execute(to_sql(card, "sqlite", table="t")).fetchall()
        assert row[0] == 2
        assert database.execute("SELECT count(*) FROM t").fetchone() == (1,)


class Loads(HTMLParser):
    """What a page would load or run."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            address = key in ("src", "href", "action", "data", "srcset", "poster")
            if key.startswith("on") or (address and not str(value).startswith(("data:", "#"))):
                self.found.append((tag, key, value))
        if tag in ("script", "iframe", "object", "embed", "link", "base", "meta", "form"):
            self.found += [(tag, *dict(attrs))] if tag != "meta" else []


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_runs_and_loads_nothing(name):
    page = to_html(card_of(name), title=name)
    loads = Loads()
    loads.feed(page)
    assert loads.found == []
    assert "url(" not in page and "@import" not in page
    assert ("{{ 7 * 7 }}" in page) == ("{{ 7 * 7 }}" in name)  # no template of its own


# --- data files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["rank m.skops", "train", "compare", "evaluate m.skops"])
@pytest.mark.parametrize("address", ["http://127.0.0.1:{}/t.csv", "//127.0.0.1:{}/t.csv"])
def test_no_address_is_opened(tmp_path, monkeypatch, capsys, command, address):
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        words = [*shlex.split(command), address.format(server.getsockname()[1])]
        more = {"rank": ["-o", "o.csv"], "train": ["--target", "y", "-o", "n.skops"]}
        assert main([*words, *more.get(words[0], ["--target", "y"])]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
        with pytest.raises(TimeoutError):
            server.accept()


def workbook(path, sheet):
    """Write a workbook of one sheet, with XML of one's own."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["x", "y"], *([number, number % 2] for number in range(12))]:
        book.active.append(row)
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    text = members["xl/worksheets/sheet1.xml"].decode()
    members["xl/worksheets/sheet1.xml"] = sheet(text).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def laughs(text):
    """Return XML with entities that stand for a billion letters."""
    entities = ['<!ENTITY a0 "1111111111">']
    entities += [f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 10)]
    return f"<!DOCTYPE worksheet [{''.join(entities)}]>{text}".replace("<v>3</v>", "<v>&a9;</v>")


@pytest.mark.parametrize("kind", ["entities", "a file"])
def test_a_workbook_expands_no_entities(tmp_path, capsys, kind):
    secret, path = tmp_path / "secret.txt", tmp_path / "t.xlsx"
    secret.write_text("777777")
    entity = f'<!DOCTYPE worksheet [<!ENTITY a SYSTEM "{secret.as_uri()}">]>'

    def with_file(xml):
        return entity + xml.replace("<v>3</v>", "<v>&a;</v>")

    workbook(path, laughs if kind == "entities" else with_file)
    out = tmp_path / "m.skops"
    code = main(["train", str(path), "--target", "y", "-o", str(out)])
    text = capsys.readouterr()
    assert "777777" not in text.out + text.err
    assert code == 2 and len(text.err.splitlines()) == 1


def test_reasons_are_no_formulas(tmp_path, monkeypatch, capsys):
    """A spreadsheet computes no cell that `rank` makes of a column's name."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X.sum(axis=1) + rng.normal(size=60) > 0
    lines = [f"{a},{b},{int(c)}" for (a, b), c in zip(X, y, strict=True)]
    Path("t.csv").write_text("\n".join(["=1+1,@x,y", *lines]))
    model = ["--ranker", "RankBoost", "--param", "n_estimators=5"]
    assert main(["train", "t.csv", "--target", "y", "-o", "m.skops", *model]) == 0
    assert main(["rank", "m.skops", "t.csv", "-o", "r.csv", "--explain"]) == 0
    with open("r.csv", newline="", encoding="utf-8") as file:
        found = [row["reason_1"] for row in csv.DictReader(file)]
    assert {text[:3] for text in found} == {"'=1", "'@x"}


# --- clusters ------------------------------------------------------------------------------------


def listeners(pid):
    """Return the addresses of IPv4 at which a process and those below it listen, of Linux."""
    inodes, children = set(), []
    for folder in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(OSError):
            inodes.add(str(folder.readlink()).removeprefix("socket:[").removesuffix("]"))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    found = {line[1].split(":")[0] for line in lines if line[3] == "0A" and line[9] in inodes}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            children += task.read_text().split()
    return found.union(*map(listeners, children))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc of Linux")
def test_workers_of_xgboost_listen_on_all_addresses():
    """As the page says: it is to be changed when this fails."""
    pytest.importorskip("xgboost")
    array = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    from sklearn_rank import RankBoost
    from sklearn_rank.dask import DaskRanker

    X = array.from_array(np.random.default_rng(0).random((20_000, 5)), chunks=(5_000, 5))
    y = (X[:, 0] > 0.5).astype(int)
    workers = {"n_workers": 2, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(**workers, protocol="tcp://", host="127.0.0.1") as cluster,
        distributed.Client(cluster) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        ranker = DaskRanker(RankBoost(n_estimators=30), client=client)
        fit, found = threads.submit(ranker.fit, X, y), set()
        while not fit.done() and "00000000" not in found:
            found |= listeners(os.getpid())
        fit.result()
        afterwards = listeners(os.getpid())
    assert "00000000" in found
    assert afterwards == {"0100007F"}
