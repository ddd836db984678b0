"""Models as ONNX graphs, for runtimes without Python.

Importing this module registers converters of the rankers with skl2onnx, where it is installed:
then ``skl2onnx.to_onnx(pipeline, X)`` works. The converters of other classes stay as they are. The
extra ``onnx`` brings what is needed.
"""

from importlib.util import find_spec

from sklearn_rank.export.onnx._card_graph import to_onnx
from sklearn_rank.export.onnx._converters import register_converters

__all__ = ["register_converters", "to_onnx"]

if find_spec("skl2onnx") is not None:
    register_converters()
