"""Fitted rankers in other systems: ONNX, and the forms that search engines read."""
