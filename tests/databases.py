"""Databases that run a card's SQL: those that are installed, started for the tests alone."""

import contextlib
import math
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from cards import column_names

from sklearn_rank._core.validation import is_missing
from sklearn_rank.scorecard import to_sql
from sklearn_rank.scorecard._sql_dialects import DIALECTS

ROW = "number of the row"
"""Name of the column that the result is sorted by."""

TYPES = {
    # Case is compared although the column ignores it.
    "sqlite": {"number": "REAL", "float": "REAL", "": "COLLATE NOCASE", "row": "INTEGER"},
    "postgresql": {"number": "DOUBLE PRECISION", "bool": "BOOLEAN", "str": "TEXT"},
    "duckdb": {"number": "DOUBLE", "bool": "BOOLEAN", "str": "VARCHAR"},
    "mariadb": {"number": "DOUBLE", "bool": "BOOLEAN", "str": "LONGTEXT CHARACTER SET utf8mb4"},
}


def type_of(dialect, kind):
    types = TYPES[dialect]
    kind = "number" if kind == "float" else kind
    return types.get(kind, types.get("", "BIGINT"))


class Database:
    """A connection of Python's interface to databases, and how it has parameters."""

    def __init__(self, dialect, connection, parameter="?", *, has_specials=True):
        self.dialect, self.connection, self.parameter = dialect, connection, parameter
        self.has_specials = has_specials

    def value_of(self, value):
        """Return a value as the database can have it."""
        if is_missing(value):
            return None
        is_special = isinstance(value, float) and not math.isfinite(value)
        return None if is_special and not self.has_specials else value

    def answers(self, card, X, **options):
        """Return the rows of the result, with names, for a table that has the rows of X."""
        quote, cursor = DIALECTS[self.dialect].name, self.connection.cursor()
        names, kinds = column_names(card), {one.column: one.kind for one in card.variables}
        declared = [f"{quote(ROW)} {type_of(self.dialect, 'row')}"]
        declared += [
            f"{quote(names[j])} {type_of(self.dialect, kind)}" for j, kind in kinds.items()
        ]
        cursor.execute(f"DROP TABLE IF EXISTS {quote('cards')}")
        cursor.execute(f"CREATE TABLE {quote('cards')} ({', '.join(declared)})")
        places = ", ".join([self.parameter] * (1 + len(kinds)))
        rows = [
            (number, *(self.value_of(row[j]) for j in kinds))
            for number, row in enumerate(X.tolist())
        ]
        cursor.executemany(f"INSERT INTO {quote('cards')} VALUES ({places})", rows)
        cursor.execute(to_sql(card, self.dialect, table="cards", keep=ROW, **options))
        found = [tuple(row) for row in cursor.fetchall()]
        titles = [one[0] for one in cursor.description]
        cursor.close()
        assert titles[0] == ROW
        return titles[1:], [row[1:] for row in sorted(found)]


@contextlib.contextmanager
def sqlite():
    """Yield SQLite in memory."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        yield Database("sqlite", connection)


@contextlib.contextmanager
def duckdb():
    """Yield DuckDB in memory."""
    module = pytest.importorskip("duckdb")
    with contextlib.closing(module.connect(":memory:")) as connection:
        yield Database("duckdb", connection)


def _program(name, *folders):
    """Return the path of a program; skip the test without it."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *map(str, folders)])
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@contextlib.contextmanager
def _server_folder(*users):
    """Yield a new folder and the options of a process that may own it: no server runs as root."""
    folder, options = Path(tempfile.mkdtemp(prefix="cards")), {}
    if os.name == "posix" and os.geteuid() == 0:
        known = {one.pw_name: one for one in pwd.getpwall()}
        owner = next((known[name] for name in (*users, "nobody") if name in known), None)
        if owner is None:
            pytest.skip("the server does not run as root")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        options = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    try:
        yield folder, {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
                       **options}  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _connected(connect, seconds=60):
    """Return the first connection that a server accepts."""
    end = time.monotonic() + seconds
    while True:
        try:
            return connect()
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


@contextlib.contextmanager
def _running(command, options):
    """Run a server until the end of the block."""
    server = subprocess.Popen(command, **options)
    try:
        yield
    finally:
        server.terminate()
        server.wait(timeout=60)


@contextlib.contextmanager
def postgresql():
    """Yield a server of PostgreSQL of its own."""
    module = pytest.importorskip("psycopg2")
    initdb, postgres = _program("initdb"), _program("postgres")
    with _server_folder("postgres") as (folder, options):
        made = [initdb, "-D", "data", "-U", "cards", "-A", "trust", "-E", "UTF8"]
        subprocess.run([*made, "--locale=C.UTF-8"], check=True, **options)
        command = [postgres, "-D", "data", "-k", folder, "-c", "listen_addresses="]
        with _running(command, options):
            where = {"host": str(folder), "user": "cards", "dbname": "postgres"}
            connection = _connected(lambda: module.connect(**where))
            connection.autocommit = True
            with contextlib.closing(connection):
                yield Database("postgresql", connection, "%s")


@contextlib.contextmanager
def mariadb():
    """Yield a server of MariaDB of its own."""
    module = pytest.importorskip("pymysql")
    install, server = _program("mariadb-install-db"), _program("mariadbd")
    with _server_folder("mysql") as (folder, options):
        shared = ["--no-defaults", f"--datadir={folder}/data"]
        made = [install, *shared, "--auth-root-authentication-method=normal"]
        subprocess.run([*made, "--skip-test-db"], check=True, **options)
        socket = f"{folder}/socket"
        command = [server, *shared, f"--socket={socket}", "--skip-networking"]
        with _running(command, options):
            where = {"unix_socket": socket, "user": "root", "charset": "utf8mb4"}

            def connect():
                Path(socket).stat()  # a failed attempt would leave its own socket open
                return module.connect(**where)

            connection = _connected(connect)
            with contextlib.closing(connection):
                connection.cursor().execute("CREATE DATABASE tables CHARACTER SET utf8mb4")
                connection.select_db("tables")
                yield Database("mariadb", connection, "%s", has_specials=False)


DATABASES = {"sqlite": sqlite, "duckdb": duckdb, "postgresql": postgresql, "mariadb": mariadb}
