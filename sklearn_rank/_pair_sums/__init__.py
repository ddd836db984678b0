"""Sums of a margin loss over all comparable pairs, none of which is built.

They are what objectives minimise and what metrics report. Users find the public names in
`sklearn_rank.objectives`.
"""
