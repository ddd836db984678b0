"""Bins of features: ranges of numbers, categories, special codes, missing values."""
