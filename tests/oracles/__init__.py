"""Definitions, written as slow and obvious loops."""
