"""Scorecards: a ranker as a table of integer points."""
