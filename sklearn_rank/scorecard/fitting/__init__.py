"""A card made of a fitted ranker: bins, integer points, points of values not seen."""
