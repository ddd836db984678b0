"""The rankers: one file each."""
