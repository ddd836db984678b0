"""Parts of a fit that the boosting rankers share."""
