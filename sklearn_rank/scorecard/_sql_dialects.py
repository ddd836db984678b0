"""How databases write names, strings, numbers and conditions."""

from __future__ import annotations

import math
from decimal import Decimal

_EXACT, _DIGITS, _POWER = 2**53, 15, 22
"""Integers up to here are doubles; so are those of 15 digits, and 10^22."""


class Sqlite:
    """How names, strings and numbers are written in SQLite; other dialects override some."""

    def name(self, text: str) -> str:
        """Return a quoted identifier."""
        return '"' + text.replace('"', '""') + '"'

    def text(self, text: str) -> str:
        """Return a string."""
        return "'" + text.replace("'", "''") + "'"

    def real(self, digits: str) -> str:
        """Return a literal of type double."""
        return digits if set(digits) & set(".e") else f"{digits}.0"

    def number(self, value: float) -> str:
        """Return an expression that has exactly this value.

        A database may misread a decimal by one unit in the last place, but none whose digits, as
        an integer, and power of ten are doubles; nor an integer, or a product with powers of two.
        """
        if value.is_integer() and abs(value) <= _EXACT:
            return str(int(value))
        _, digits, exponent = Decimal(repr(value)).as_tuple()
        if len(digits) <= _DIGITS and abs(int(exponent)) <= _POWER:
            return self.real(repr(value))
        fraction, exponent = math.frexp(value)
        integer, exponent = int(fraction * _EXACT), exponent - 53
        while integer % 2 == 0:
            integer, exponent = integer // 2, exponent + 1
        # Factors of at most 2^52 are integers that every database reads exactly.
        operator, remaining, factors = "*" if exponent > 0 else "/", abs(exponent), ""
        while remaining:
            power = min(remaining, 52)
            factors += f" {operator} {self.real(str(2**power))}"
            remaining -= power
        return self.real(str(integer)) + factors

    def double(self, value: float) -> str:
        """Return an expression of type double that has exactly this value."""
        number = self.number(value)
        return self.real(number) if number.lstrip("-").isdigit() else number

    def truth(self, value: bool) -> str:
        """Return a truth value."""
        return str(int(value))

    def is_missing(self, column: str) -> str:
        """Return the condition that a number is missing; SQLite stores NaN as NULL."""
        return f"{column} IS NULL"

    def exact_text(self, column: str) -> str:
        """Return a column of strings that compares case, and accents."""
        return f"{column} COLLATE BINARY"


class Postgresql(Sqlite):
    """How PostgreSQL and DuckDB differ."""

    def number(self, value: float) -> str:
        """Return a double; a string is read correctly, a decimal would be of type numeric."""
        if value.is_integer() and abs(value) < 2**31:
            return str(int(value))
        return f"double precision '{value!r}'"

    def truth(self, value: bool) -> str:
        return str(value).upper()

    def is_missing(self, column: str) -> str:
        return f"{column} IS NULL OR {column} = double precision 'NaN'"

    def exact_text(self, column: str) -> str:
        """Return the column: equality is exact in every deterministic collation."""
        return column


class Mysql(Sqlite):
    """How MySQL and MariaDB differ."""

    def name(self, text: str) -> str:
        return "`" + text.replace("`", "``") + "`"

    def text(self, text: str) -> str:
        return super().text(text.replace("\\", "\\\\"))

    def real(self, digits: str) -> str:
        """Return a number with an exponent; without one it would be a DECIMAL."""
        return digits if "e" in digits else f"{digits}e0"

    def exact_text(self, column: str) -> str:
        return f"CAST(CONVERT({column} USING utf8mb4) AS BINARY)"


class Tsql(Sqlite):
    """How SQL Server differs."""

    def name(self, text: str) -> str:
        return "[" + text.replace("]", "]]") + "]"

    def text(self, text: str) -> str:
        return "N" + super().text(text)

    real = Mysql.real

    def exact_text(self, column: str) -> str:
        return f"{column} COLLATE Latin1_General_100_BIN2"


class Bigquery(Sqlite):
    """How BigQuery differs."""

    def name(self, text: str) -> str:
        return "`" + _escaped(text, "`") + "`"

    def text(self, text: str) -> str:
        return "'" + _escaped(text, "'") + "'"

    truth = Postgresql.truth
    exact_text = Postgresql.exact_text

    def is_missing(self, column: str) -> str:
        return f"{column} IS NULL OR IS_NAN(CAST({column} AS FLOAT64))"


def _escaped(text: str, quote: str) -> str:
    """Return a text with backslashes before characters that quotes do not allow."""
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", quote: "\\" + quote}
    return "".join(special.get(letter, letter) for letter in text)


DIALECTS = {
    "sqlite": Sqlite(),
    "postgresql": Postgresql(),
    "duckdb": Postgresql(),
    "mysql": Mysql(),
    "mariadb": Mysql(),
    "tsql": Tsql(),
    "bigquery": Bigquery(),
}
"""The syntax of each database, by its name."""
