"""Models as ONNX graphs, for runtimes without Python.

The package onnx, which the extra ``onnx`` brings, is imported when a graph is made.
"""

from sklearn_rank.onnx._card_graph import to_onnx

__all__ = ["to_onnx"]
