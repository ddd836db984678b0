"""The sentences of a letter: a text for each term of a card, or for each bin."""

from __future__ import annotations

from typing import Any

from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.terms import NOT_SEEN


class Texts:
    """The sentences of terms and of their bins.

    Parameters
    ----------
    owner : str
        Whose texts they are, for messages.
    card : Card
        The scorecard.
    texts : dict or None
        Sentences by term or by (term, label of the bin).
    """

    def __init__(self, owner: str, card: Card, texts: Any) -> None:
        self._owner, given = owner, {} if texts is None else texts
        if not isinstance(given, dict):
            raise ValueError(
                f"texts of {owner} must be a dict of sentences by term or by (term, label of the "
                f"bin), or None. Got {texts!r}."
            )
        self.labels = {one.name: list(map(_known_label, one.labels())) for one in card.terms}
        self.names = {*self.labels, *(card.feature_names or ())}
        self.sentences = {
            self._checked(key): self._sentence(key, one) for key, one in given.items()
        }

    def _checked(self, key: Any) -> Any:
        """Return a key of the texts."""
        if not isinstance(key, tuple) and key in self.names:
            return key
        if not isinstance(key, tuple) or len(key) != 2 or key[0] not in self.labels:
            raise ValueError(
                f"texts of {self._owner} must have keys that are terms of the card, "
                f"{list(self.labels)}, or pairs of a term and the label of a bin. Got {key!r}."
            )
        label = _known_label(str(key[1]))
        if label not in self.labels[key[0]]:
            raise ValueError(
                f"texts of {self._owner}: the bins of {key[0]!r} are {self.labels[key[0]]}. "
                f"Got {label!r}."
            )
        return key[0], label

    def of(self, term: str, label: str) -> str:
        """Return the sentence of a bin, that of its term, or the name of the term."""
        found = self.sentences.get((term, _known_label(label)))
        return found or self.sentences.get(term, term)

    def _sentence(self, key: Any, sentence: Any) -> str:
        """Return a checked text."""
        if not isinstance(sentence, str) or not sentence.strip():
            raise ValueError(
                f"texts of {self._owner} must be strings that are not empty. Got {sentence!r} for "
                f"{key!r}."
            )
        return sentence


def _known_label(label: str) -> str:
    """Return the label of a bin, whether training has seen it or not."""
    return label.removesuffix(NOT_SEEN)
