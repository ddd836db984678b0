"""Definitions of the features that a model is computed from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_VARIABLE = re.compile(r"\{\{\{?\s*[#^/&]?\s*([\w-]+)[\w.-]*\s*\}?\}\}")
"""A variable of a Mustache template, in two or three braces, with the signs of sections.

Of a name with points it is the first part; a point alone is an item of a section.
"""

_FUNCTIONS = ("toJson", "join", "url")
"""Sections that are functions of the search engine, and no parameters."""


def feature_set(queries: Mapping[str, Any]) -> dict[str, Any]:
    """Return a feature set of Elasticsearch or OpenSearch: each feature is the score of a query.

    It is for ``POST _ltr/_featureset/NAME``. Each feature names the parameters that its query has
    in double braces; a search must give all of them. Of ``{{user.city}}`` the parameter is user.

    Parameters
    ----------
    queries : mapping of str to dict
        The query of each feature by its name, a Mustache template, in the order of the columns of
        X.

    Returns
    -------
    dict
        The body of the request, for ``json.dumps``.

    Raises
    ------
    TypeError
        When there is no query or a query is not a dict.

    Examples
    --------
    >>> from sklearn_rank.export.search_engines import feature_set
    >>> found = feature_set({"title": {"match": {"title": "{{keywords}}"}}})
    >>> found["featureset"]["features"][0]["params"]
    ['keywords']
    """
    if not isinstance(queries, Mapping) or not queries:
        raise TypeError(f"queries must map names of features to queries. Got {queries!r}.")
    features = []
    for name, query in queries.items():
        if not isinstance(query, Mapping):
            raise TypeError(f"The query of feature {name!r} must be a dict. Got {query!r}.")
        found = dict.fromkeys(_VARIABLE.findall(json.dumps(query)))
        params = [one for one in found if one not in _FUNCTIONS]
        features.append(
            {"name": name, "params": params, "template_language": "mustache", "template": query}
        )
    return {"featureset": {"features": features}}
