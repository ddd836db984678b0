"""The version of this package, where every module can read it."""

__version__ = "0.3.0"
