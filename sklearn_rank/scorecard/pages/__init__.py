"""Pages of HTML that a person reads: a card, and a report on one."""
