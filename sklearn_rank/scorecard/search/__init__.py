"""Settings of a card chosen by folds."""
