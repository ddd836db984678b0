"""Forms in which another system reads a card: a table, text, JSON, SQL, PMML, ONNX."""
