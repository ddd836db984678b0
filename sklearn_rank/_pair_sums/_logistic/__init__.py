r"""Logistic loss of all pairs of two groups of rows, in time linear in the rows.

The loss and its derivative are a ramp or a step, which running sums of weights give exactly, and a
remainder that decays exponentially. The cheaper of two methods is used:

- *cells*: the rows become moments of cells, and the remainder is a convolution. The cost is that of
  the rows and of the cells.
- *scan*: the rows are sorted, and the remainder is a sum of exponentials, by scans. The cost is
  that of the rows, whatever their scores.

Several processes use the same cells: moments are added up over the processes, and each evaluates
the polynomials at its own rows.
"""
