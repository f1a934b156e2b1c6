"""How wide words are in Helvetica, the font that every PDF reader has; Arial and its kin are as wide."""

import unicodedata

# Thousandths of the size, from the space to the tilde, as Adobe's font metrics have them.
_PLAIN = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556,
    556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_BOLD = (
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611,
    611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
)  # fmt: skip
WIDER = 1.16  # than Helvetica: what a browser may have in its place
WIDER_BOLD = 1.23
_OTHERS = {"±": 584, "×": 584, "–": 556, "—": 1000, "…": 1000, "·": 278, "•": 350}


def width_of(words: str, size: float = 11.0, bold: bool = False) -> float:
    """The width of some words."""
    return sum(_width(sign, _BOLD if bold else _PLAIN) for sign in words) * size / 1000


def room_for(words: str, size: float = 11.0, bold: bool = False) -> float:
    """What to leave for some words, whatever font a viewer takes for Helvetica."""
    return width_of(words, size, bold) * (WIDER_BOLD if bold else WIDER)


def fitted(words: str, room: float, size: float = 11.0, bold: bool = False) -> str:
    """The words, or as much of them as fits with three dots behind."""
    if width_of(words, size, bold) <= room:
        return words
    kept = words
    while kept and width_of(kept + "...", size, bold) > room:
        kept = kept[:-1]
    return kept.rstrip() + "..."


def _width(sign: str, table: tuple[int, ...]) -> int:
    base = unicodedata.normalize("NFD", sign)[:1]
    if " " <= base <= "~":
        return table[ord(base) - 32]
    wide = unicodedata.east_asian_width(sign) in ("W", "F")
    return _OTHERS.get(sign, 1000 if wide else 600)
