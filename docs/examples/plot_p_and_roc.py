"""
What p does to the ROC curve
============================

hello :class:`~sklearn_rank.PNormPushRanker`.
"""

import matplotlib.pyplot as plt

plt.plot([1, 2])
