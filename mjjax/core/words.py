"""Messages about unknown words: the nearest known word, and all known words."""

import difflib
import itertools
from collections.abc import Iterable, Sequence

# Largest number of words to compare with, of letters in such a word, and of words to list.
_MOST_WORDS, _LONGEST, _FEW = 1000, 60, 8
_ROOM = 60  # characters of a list of names


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint with the valid word most like `word`, or with all if they are few."""
    known = [w for w in itertools.islice(words, _MOST_WORDS) if w]
    close = _close(word, known, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"one of {', '.join(known)}" if 0 < len(known) <= _FEW else ""


def listed(word: str, words: Sequence[str]) -> str:
    """The known words, those most like `word` first, as many as a message has room for."""
    close = _close(word, words[:_MOST_WORDS], 3)
    order = [*close, *(w for w in words if w not in close)]
    shown: list[str] = []
    for name in order:
        text = name if len(name) <= 30 else name[:29] + "…"
        if shown and len(", ".join([*shown, text])) > _ROOM:
            break
        shown.append(text)
    more = len(order) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _close(word: str, words: Sequence[str], most: int) -> list[str]:
    plain = {w.lower()[:_LONGEST]: w for w in reversed(words)}
    return [plain[w] for w in difflib.get_close_matches(word.lower()[:_LONGEST], plain, n=most)]
