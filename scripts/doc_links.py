"""The links of the written pages: what they lead to, whether every page is in the index, and the names of the code
that the page of the architecture has."""

import re

INDEX = "docs/README.md"


def prose(text):
    """The text without its blocks of code and its comments."""
    text = re.sub(r"^( *)(```+|~~~+).*?^ *\2 *$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def slugs(text):
    """The anchors that a code host gives to the headings of a page."""
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", prose(text), re.MULTILINE):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = base = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 0
        while slug in found:
            number += 1
            slug = f"{base}-{number}"
        found.add(slug)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def links(text):
    """Path and anchor of each link that stays in the tree."""
    text = re.sub(r"(`+)[^`\n]+\1", "", prose(text))
    found = re.findall(r"\]\(\s*([^)\s]+)[^)]*\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    found += re.findall(r"^\[[^\]]+\]: +(\S+)", text, re.MULTILINE)
    return [link.partition("#")[::2] for link in found if not re.match(r"[a-z]+:|//", link)]


def broken_links(root):
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/**/*.md"))]
    anchors = {}
    for page in pages:
        for path, anchor in links(page.read_text(encoding="utf-8")):
            target = (page.parent / path).resolve() if path else page.resolve()
            name = f"{page.relative_to(root)} links to {path}{anchor and '#'}{anchor}"
            if not target.exists():
                yield f"{name}, which does not exist"
            elif anchor and target.suffix == ".md":
                if target not in anchors:
                    anchors[target] = slugs(target.read_text(encoding="utf-8"))
                if anchor not in anchors[target]:
                    yield f"{name}, which has no such heading"


def missing_in_index(root):
    index = root / INDEX
    linked = {(index.parent / path).resolve() for path, _ in links(index.read_text(encoding="utf-8")) if path}
    for page in sorted(root.glob("docs/**/*.md")):
        if page != index and page.resolve() not in linked:
            yield f"{INDEX} does not link to {page.relative_to(index.parent)}"


def unknown_names(root, page="docs/architecture.md"):
    """Classes, functions, files and rooms that the page names, or should name."""
    text = (root / page).read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for folder in ["core", "capi", "wrappers", "include"]
                   for path in sorted((root / folder).rglob("*.h")))
    for name in sorted(set(re.findall(r"`([^`]+)`", prose(text)))):
        for function in re.findall(r"(\w+)\(\)", name):
            if not re.search(rf"\b{function}\(", code):
                yield f"{page} names {function}(), which no header has"
        for kind in re.findall(r"\b[A-Z][a-z]+[A-Z]\w+|^[A-Z][a-z]+(?=::|$)", name):
            if not re.search(rf"\b(class|struct) (alignas\(\w+\) )?{kind}\b", code):
                yield f"{page} names {kind}, which no header has"
        if re.match(r"(core|capi|wrappers)/", name) and not (root / name).exists():
            yield f"{page} names {name}, which does not exist"
    rooms = [path.name for path in (root / "core").iterdir() if path.is_dir()]
    rooms += ["capi", *(path.name for path in (root / "wrappers").iterdir() if path.is_dir())]
    for room in sorted(rooms):
        if f"\n- **{room}** " not in text:
            yield f"{page} does not describe {room}"
