"""Fitted rankers for other systems: ONNX and the formats of search engines."""
