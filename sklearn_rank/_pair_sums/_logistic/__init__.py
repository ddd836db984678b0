r"""Logistic loss of all pairs of two groups of rows, in time linear in the rows.

The loss and its derivative are a ramp or a step, which sums of weights handle exactly over any
distance, and a remainder that decays as an exponential does. There are two methods, of which the
cheaper is taken:

- *cells*: the rows become moments of cells, and the remainder is a convolution. The cost is that of
  the rows and of the cells.
- *scan*: the rows are sorted, and the remainder is a sum of exponentials, which scans sum up. The
  cost is that of the rows, wherever they lie.

Rows of several processes are summed by the same cells: their moments are added up over the
processes, and each takes the polynomials at its own rows.
"""
