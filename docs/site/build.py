"""The pages of docs/ as a site with navigation and search: `make site` writes it to site/, which opens without a server.

The site mirrors the repository, so a link that works here works there: pages become .html, linked files of other kinds are
copied, a linked folder becomes a list of its pages. A link that leads nowhere fails the build, with the page and the link.
"""

import html
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
FIRST = "README.md"
CONTENTS = "docs/README.md"  # its tables are the navigation
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


@dataclass
class Page:
    """A Markdown file, read: its tokens, its headings by anchor, and what it links to."""

    path: str  # from the root, as every path here
    tokens: list[Token]
    title: str = ""
    anchors: set[str] = field(default_factory=set)
    links: list[tuple[Token, str]] = field(
        default_factory=list
    )  # a token, and the attribute that has the address

    @classmethod
    def read(cls, path: str, text: str) -> "Page":
        """Headings get the anchors that they have on GitHub."""
        page = cls(path, MARKDOWN.parse(text))
        for place, token in enumerate(page.tokens):
            if token.type == "heading_open":
                words = said(page.tokens[place + 1])
                token.attrSet("id", page.anchor(words))
                page.title = page.title or words
            for child in token.children or ():
                if child.type in ("link_open", "image"):
                    page.links.append((child, "href" if child.type == "link_open" else "src"))
        return page

    def anchor(self, words: str) -> str:
        """A new anchor for a heading."""
        base = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
        name, number = base, 0
        while name in self.anchors:
            number += 1
            name = f"{base}-{number}"
        self.anchors.add(name)
        return name


def said(inline: Token) -> str:
    """The words of a line, without its marks."""
    return "".join(
        c.content if c.type in ("text", "code_inline") else " " for c in inline.children or ()
    ).strip()


def pages() -> dict[str, Page]:
    """Every page of the site by its path; folders that pages link to have a page that lists theirs."""
    paths = [*TOP, *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
    found = {path: Page.read(path, (ROOT / path).read_text(encoding="utf-8")) for path in paths}
    for page in list(found.values()):
        for token, attribute in page.links:
            folder = target_of(page.path, str(token.attrs[attribute]))[0]
            listed = f"{folder}/index.md"
            if folder and listed not in found and (ROOT / folder).is_dir():
                found[listed] = Page.read(listed, list_of(folder, found))
    return found


def list_of(folder: str, found: dict[str, Page]) -> str:
    """A page of links to what lies in a folder."""
    inside = {path: page.title for path, page in found.items() if str(PurePosixPath(path).parent) == folder}
    others = {
        str(p.relative_to(ROOT)): p.name
        for p in sorted((ROOT / folder).iterdir())
        if p.suffix != ".md" and p.is_file()
    }
    lines = [f"- [{title}]({PurePosixPath(path).name})" for path, title in {**inside, **others}.items()]
    return f"# {PurePosixPath(folder).name.capitalize()}\n\n" + "\n".join(lines) + "\n"


def target_of(page: str, link: str) -> tuple[str, str]:
    """The path that a link leads to, from the root, and its anchor; an empty path for another site."""
    path, _, anchor = link.partition("#")
    if re.match(r"[a-z]+:", link):
        return "", ""
    joined = os.path.normpath(PurePosixPath(page).parent / unquote(path)) if path else page
    return joined.replace(os.sep, "/"), anchor


def faults(found: dict[str, Page]) -> list[str]:
    """Every link that leads nowhere."""
    wrong = []
    for page in found.values():
        for token, attribute in page.links:
            link = str(token.attrs[attribute])
            path, anchor = target_of(page.path, link)
            if not path:
                continue
            there = found.get(path) or found.get(f"{path}/index.md")
            if there is None and not (ROOT / path).is_file():
                wrong.append(f"{page.path}: {link}: leads nowhere")
            elif anchor and (there is None or anchor not in there.anchors):
                wrong.append(f"{page.path}: {link}: no heading of {path} has this anchor")
    return wrong


def navigation(contents: Page) -> list[tuple[str, list[tuple[str, str]]]]:
    """Sections, each with titles and paths, from the tables of the page of contents."""
    sections: list[tuple[str, list[tuple[str, str]]]] = []
    inside = header = False
    for token in contents.tokens:
        inside = token.type == "table_open" or (inside and token.type != "table_close")
        header = token.type == "thead_open" or (header and token.type != "thead_close")
        if not inside or token.type != "inline":
            continue
        if header and said(token):
            sections.append((said(token), []))
        children = token.children or []
        for place, child in enumerate(children):
            if child.type == "link_open":
                path = target_of(contents.path, str(child.attrs["href"]))[0]
                title = children[place + 1].content
                sections[-1][1].append((title[:1].upper() + title[1:], path))
    return sections


def as_site(path: str) -> str:
    """Where a page or file of the repository lies in the site."""
    if path.endswith(".md"):
        return path.removesuffix(".md") + ".html"
    return f"{path}/index.html" if (ROOT / path).is_dir() else path


def written(page: Page, sections: list[tuple[str, list[tuple[str, str]]]]) -> str:
    """A page as HTML, with its links as they are in the site."""
    here = PurePosixPath(page.path).parent

    def way(path: str) -> str:
        return os.path.relpath(as_site(path), here).replace(os.sep, "/")

    for token, attribute in page.links:
        path, anchor = target_of(page.path, str(token.attrs[attribute]))
        if path:
            token.attrs[attribute] = way(path) + (f"#{anchor}" if anchor else "")
    menu = [f'<a href="{way(FIRST)}"{current(page, FIRST)}>Flockwise</a>']
    for title, entries in sections:
        menu.append(f"<p>{html.escape(title)}</p>")
        menu += [
            f'<a href="{html.escape(way(p))}"{current(page, p)}>{html.escape(t)}</a>' for t, p in entries
        ]
    body = re.sub(r"<table>(.*?)</table>", r'<div class="wide"><table>\1</table></div>',
                  MARKDOWN.renderer.render(page.tokens, MARKDOWN.options, {}), flags=re.DOTALL)  # fmt: skip
    values = {
        "title": html.escape(page.title), "root": os.path.relpath(".", here).replace(os.sep, "/"),
        "menu": "\n".join(menu), "body": body,
    }  # fmt: skip
    return re.sub(
        r"\{\{(\w+)\}\}", lambda name: values[name[1]], (HERE / "page.html").read_text(encoding="utf-8")
    )


def current(page: Page, path: str) -> str:
    """What marks the entry of the page that is shown."""
    return ' aria-current="page"' if path in (page.path, page.path.removesuffix("/index.md")) else ""


def search_entries(found: dict[str, Page]) -> list[list[str]]:
    """For the search: page title, heading, address and text of every section."""
    entries = []
    for page in found.values():
        heading, anchor, words = page.title, "", []
        for place, token in enumerate(page.tokens):
            if token.type == "heading_open":
                entries.append([page.title, heading, as_site(page.path) + anchor, " ".join(words)])
                heading, anchor, words = said(page.tokens[place + 1]), f"#{token.attrs['id']}", []
            elif token.type == "inline":
                words.append(said(token))
            elif token.type == "fence":
                words.append(token.content)
        entries.append([page.title, heading, as_site(page.path) + anchor, " ".join(words)])
    return [[*entry[:3], re.sub(r"\s+", " ", entry[3])] for entry in entries if entry[3]]


def build(out: Path) -> int:
    """Write the site; how many pages it has. Nothing is written if a link leads nowhere."""
    found = pages()
    if wrong := faults(found):
        raise SystemExit("\n".join(wrong))
    shutil.rmtree(out, ignore_errors=True)
    entries, sections = search_entries(found), navigation(found[CONTENTS])
    for page in found.values():
        for token, attribute in page.links:
            path = target_of(page.path, str(token.attrs[attribute]))[0]
            if path and path not in found and (ROOT / path).is_file():
                (out / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, out / path)
        target = out / as_site(page.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(written(page, sections), encoding="utf-8")
    shutil.copyfile(out / as_site(FIRST), out / "index.html")
    for name in ("style.css", "search.js"):
        shutil.copyfile(HERE / name, out / name)
    (out / "search-index.js").write_text(f"window.ENTRIES = {json.dumps(entries)};\n", encoding="utf-8")
    return len(found)


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site")
    sys.stdout.write(f"{build(where)} pages: {where / 'index.html'}\n")
