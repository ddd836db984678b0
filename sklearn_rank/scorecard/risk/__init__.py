"""The probability of the upper class at each total of a card, and its intervals."""
