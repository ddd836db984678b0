"""What every part is built on: rows, pairs of rows, protocols, checks and threads."""
