"""Models as ONNX graphs, for runtimes without Python.

If skl2onnx is installed, importing this module registers converters for the rankers, so that
``skl2onnx.to_onnx(pipeline, X)`` works. The converters of other classes are unchanged. The extra
``onnx`` installs the required packages.
"""

from importlib.util import find_spec

from sklearn_rank.export.onnx._card_graph import to_onnx
from sklearn_rank.export.onnx._converters import register_converters

__all__ = ["register_converters", "to_onnx"]

if find_spec("skl2onnx") is not None:
    register_converters()
