"""Models in the formats of the learning-to-rank plugins of search engines.

The plugins of Elasticsearch and OpenSearch compute features of a document for a query and score
them with a model, all in single precision. No extra is needed to write these formats.
"""

from sklearn_rank.export.search_engines._forms import to_linear_json, to_ranklib, to_xgboost_json

__all__ = ["to_linear_json", "to_ranklib", "to_xgboost_json"]
