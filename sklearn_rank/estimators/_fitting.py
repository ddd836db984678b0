"""The old name of a record that files of version 0.1.0 hold; nothing else imports this module."""

from sklearn_rank._versions import OldRecord as History  # noqa: F401
