"""Ranking data sets: a reader for svmlight/LETOR files and generators."""

from sklearn_rank.datasets._credit import make_credit
from sklearn_rank.datasets._letor import load_letor
from sklearn_rank.datasets._queries import make_queries

__all__ = ["load_letor", "make_credit", "make_queries"]
