"""Optional libraries, whether or not they can be loaded here."""

import pytest

from sklearn_rank.cli._tables.inputs import InputError, import_extra
from sklearn_rank.engines import registry


class Missing:
    """In place of a module that can't be loaded: a test that uses it is skipped with the reason."""

    def __init__(self, reason):
        self._reason = reason

    def __getattr__(self, name):
        if name.startswith("__"):  # of those who collect tests
            raise AttributeError(name)
        pytest.skip(self._reason, allow_module_level=True)


def need(name):
    """Skip a test where an engine can't be loaded."""
    if reason := registry._loaded(name)[1]:
        pytest.skip(reason)


def need_extra(name):
    """Skip a test where the command line can't load a package: skrub makes a folder at home."""
    try:
        import_extra(name)
    except InputError as error:
        pytest.skip(str(error))


def library(name):
    """Return the module of an engine, or what skips the tests that use it."""
    module, reason = registry._loaded(name)
    return Missing(reason) if module is None else module
