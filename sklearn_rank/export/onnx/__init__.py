"""Models as ONNX graphs, for runtimes without Python.

Importing this module registers converters of the rankers with skl2onnx, where it is installed:
then ``skl2onnx.to_onnx(pipeline, X)`` works. The converters of other classes stay as they are. The
extra ``onnx`` brings what is needed.
"""

from importlib.util import find_spec

from sklearn_rank.export.onnx._converters import register_converters
from sklearn_rank.scorecard.forms.card_graph import to_onnx

__all__ = ["register_converters", "to_onnx"]

if find_spec("skl2onnx") is not None:
    register_converters()
