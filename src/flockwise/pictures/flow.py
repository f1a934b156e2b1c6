"""A flow of questions and answers: settings branch from left to right, at each end the methods to take."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from flockwise.pictures.fonts import WIDER, WIDER_BOLD, fitted, room_for
from flockwise.pictures.picture import FAINT, INK, PAPER, RULE, SOFT, Line, Picture, Rect, Text

TOP, LINE, GAP, BOX, STEP, ROOM = 20.0, 24.0, 9.0, 130.0, 26.0, 470.0
BEST, GROUND = "#1f6fb4", "#f1f4f7"


@dataclass(frozen=True)
class Answer:
    """What the answer to a path of settings is: the best, others that are as good as far as can be told, or a remark.

    The best are names, each with its number: a name may be shortened, a number never.
    """

    path: tuple[str, ...]
    best: Sequence[tuple[str, str]]
    tied: Sequence[str]
    remark: str = ""


def flow(title: str, questions: Sequence[str], answers: Sequence[Answer]) -> Picture:
    """Questions are the heads of the levels; answers with a common beginning branch from one box."""
    start = len(questions) * (BOX + STEP)
    laid = [_chips(answer) for answer in answers]
    heights = [LINE * len(chips) for chips in laid]
    picture = Picture(start + ROOM, TOP + sum(heights) + GAP * len(heights), title)
    for level, question in enumerate([*questions, "take"]):
        picture.add(Text(level * (BOX + STEP), 12, fitted(question, BOX / WIDER, 10), fill=SOFT, size=10))
    middles, y = [], TOP
    for chips, height in zip(laid, heights, strict=True):
        middles.append(y + height / 2)
        _draw_chips(picture, chips, start, y)
        y += height + GAP
    _boxes(picture, [answer.path for answer in answers], middles, 0, 0.0)
    return picture


def _boxes(
    picture: Picture, paths: Sequence[tuple[str, ...]], middles: Sequence[float], level: int, x: float
) -> list[float]:
    """Draw the boxes from a level on; where those of this level are."""
    found = []
    for label, group in groupby(range(len(paths)), key=lambda place: paths[place][level : level + 1]):
        places = list(group)
        inner = [middles[place] for place in places]
        if not label:
            continue
        if level + 1 < len(paths[0]):
            inner = _boxes(picture, [paths[p] for p in places], inner, level + 1, x + BOX + STEP)
        middle = (inner[0] + inner[-1]) / 2
        bend = x + BOX + STEP / 2
        picture.add(Line(x + BOX, middle, bend, middle, FAINT))
        if len(inner) > 1:
            picture.add(Line(bend, inner[0], bend, inner[-1], FAINT))
        picture.add(*(Line(bend, one, x + BOX + STEP, one, FAINT) for one in inner))
        picture.add(Rect(x, middle - 10, BOX, 20, GROUND, RULE, tip=label[0]))
        picture.add(Text(x + 8, middle + 4, fitted(label[0], (BOX - 14) / WIDER)))
        found.append(middle)
    return found


def _chips(answer: Answer) -> list[list[tuple[str, str]]]:
    """The names with their kind, on lines no wider than the room for them."""
    chips = [(name, f" {number}", "best") for name, number in answer.best]
    chips += [(name, "", "tied") for name in answer.tied]
    if answer.remark:
        chips.append((answer.remark, "", "remark"))
    lines: list[list[tuple[str, str]]] = [[]]
    used = 0.0
    for name, number, kind in chips:
        bold = kind == "best"
        room = (ROOM - 20 - room_for(number, 10, bold)) / WIDER_BOLD
        words = fitted(name, room, 10, bold) + number
        wide = room_for(words, 10, bold) + 20
        if lines[-1] and used + wide > ROOM:
            lines.append([])
            used = 0.0
        lines[-1].append((words, kind))
        used += wide
    return lines


def _draw_chips(picture: Picture, lines: list[list[tuple[str, str]]], x: float, y: float) -> None:
    for number, line in enumerate(lines):
        at, middle = x, y + (number + 0.5) * LINE
        for words, kind in line:
            wide = room_for(words, 10, bold=kind == "best") + 14
            if kind == "best":
                picture.add(Rect(at, middle - 9, wide, 18, BEST))
            elif kind == "tied":
                picture.add(Rect(at, middle - 9, wide, 18, None, BEST))
            ink = {"best": PAPER, "tied": INK, "remark": SOFT}[kind]
            picture.add(Text(at + 7, middle + 3.5, words, fill=ink, size=10, bold=kind == "best"))
            at += wide + 6
