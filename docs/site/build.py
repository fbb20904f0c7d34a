#!/usr/bin/env python3
"""Builds the site: the written pages, the C reference and the Python reference, with one search.

Usage: build.py VERSION SOURCE OUTPUT DEPENDENCIES DOXYFILE, the fourth a file to write for the build.
       build.py --missing, which prints why a site cannot be built here, or nothing
Set DOXYGEN and SPHINX to run other programs than doxygen and sphinx-build.

The pages stay as they are for readers on a code host. For the site they are copied into a folder beside
OUTPUT, where links that leave docs/ are changed: a header becomes its reference, and any other file a page
that shows it. docs/README.md is the start page. Its section "All pages by subject" is the navigation.
docs/PAGE.md becomes PAGE.html, and docs/FOLDER/README.md FOLDER/index.html.
"""

import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SPHINX = os.environ.get("SPHINX", "sphinx-build")
EXTENSIONS = ["myst_parser", "breathe"]
NAVIGATION = "All pages by subject"
PYTHON = ["detcore", "core", "client", "search", "search.optuna", "storage", "trial", "keras", "keras.callbacks",
          "estimator", "integrations", "integrations.keras", "integrations.lightgbm", "integrations.lightning",
          "integrations.sklearn", "integrations.transformers", "integrations.xgboost", "errors"]
LANGUAGES = {".c": "c", ".cc": "cpp", ".cfg": "ini", ".h": "c", ".hpp": "cpp", ".go": "go", ".java": "java",
             ".js": "javascript", ".json": "json", ".md": "markdown", ".py": "python", ".rs": "rust", ".sbatch": "sh",
             ".sh": "sh", ".yaml": "yaml"}
ORPHAN = "---\norphan: true\n---\n"  # a page that the navigation does not list: each of those makes all pages slower
C_REFERENCE, PYTHON_REFERENCE = "include/det", "wrappers/python/detcore"


class Site:
    def __init__(self, source, stage):
        self.source, self.stage = source, stage
        self.pages = {"README.md": "introduction.md", "CONTRIBUTING.md": "contributing.md",
                      "CHANGELOG.md": "changelog.md", "docs/README.md": "index.md",
                      C_REFERENCE: "c-reference.md", PYTHON_REFERENCE: "python-reference.md"}
        for path in sorted(source.glob("docs/**/*.md")):
            name = path.relative_to(source).as_posix()
            self.pages.setdefault(name, re.sub(r"README\.md$", "index.md", name.removeprefix("docs/")))
        self.headers = sorted(source.glob("include/det/*.h"), key=lambda path: (path.stem != "core", path.stem))
        for path in self.headers:
            self.pages[path.relative_to(source).as_posix()] = f"c/{path.stem}.md"
        self.shown = {}  # of files that are no pages: the page that shows it, by its path
        self.written, self.changed = set(), set()
        self.read = set(self.headers)

    def write(self, name, text):
        """Leaves a file alone that would stay the same: Sphinx reads only what is newer."""
        path = self.stage / name
        self.written.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            self.changed.add(name)

    def text_of(self, name):
        self.read.add(self.source / name)
        return (self.source / name).read_text(encoding="utf-8")

    def target(self, page, link):
        """The link of a page of the tree, as it has to be in the site."""
        path, mark, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", link):
            return link
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if name.startswith("docs/pictures/"):
            to = name.removeprefix("docs/")
        elif name in self.pages:
            to = self.pages[name]
        elif (self.source / name).exists():
            to = self.shown.setdefault(name, f"source/{name}.md")
        else:
            return link  # of which Sphinx complains
        return posixpath.relpath(to, posixpath.dirname(self.pages[page]) or ".") + mark + anchor

    def converted(self, page):
        """A page without the marks of the tests, and with links that hold in the site."""
        lines, fence = [], None
        for line in self.text_of(page).splitlines():
            opening = re.match(r" *(```+|~~~+)", line)
            if opening and (fence is None or opening[1] == fence):
                fence = opening[1] if fence is None else None
            elif fence is None:
                if re.fullmatch(r" *<!-- .* -->", line):
                    continue
                line = re.sub(r"(\]\()([^)\s]+)(\))", lambda found: found[1] + self.target(page, found[2]) + found[3], line)
                line = re.sub(r'(\b(?:src|href)=")([^"]+)(")',
                              lambda found: found[1] + self.target(page, found[2]) + found[3], line)
            lines.append(line)
        return "\n".join(lines) + "\n"

    def navigation(self, index):
        """The trees of contents, which the section of the start page lists by subject."""
        section = re.search(rf"^## {NAVIGATION}$(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL)
        trees, seen = [], {"index.md"}
        for part in re.split(r"^### ", section[1] if section else "", flags=re.MULTILINE)[1:]:
            caption, _, rest = part.partition("\n")
            # With their titles: what Sphinx has of its own under the name of a page, such as search, has another.
            pages = [(title.replace("`", ""), page)
                     for title, page in re.findall(r"^[-|] *\[([^\]]*)\]\(([^)#]+\.md)\)", rest, re.MULTILINE)
                     if page not in seen and not page.startswith("source/")]
            seen.update(page for _, page in pages)
            trees.append((caption.strip(), pages))
        others = [page for page in self.pages.values() if page not in seen and not page.startswith("c/")]
        trees.append(("More pages", [(page.removesuffix(".md"), page) for page in sorted(others)]))
        return "".join(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" +
                       "\n".join(f"{title} <{page}>" for title, page in pages) + "\n```\n"
                       for caption, pages in trees if pages)

    def write_pages(self):
        for name, page in self.pages.items():
            if name.endswith(".md"):
                text = self.converted(name)
                self.write(page, text + self.navigation(text) if page == "index.md" else text)
        for picture in sorted(self.source.glob("docs/pictures/*.svg")):
            name = picture.relative_to(self.source).as_posix()
            self.write(name.removeprefix("docs/"), self.text_of(name))

    def write_shown(self):
        """Pages of the files that others link to; of a folder, all files in it."""
        for name, page in self.shown.items():
            path = self.source / name
            files = [path]
            if path.is_dir():
                files = [file for file in sorted(path.rglob("*")) if file.is_file() and "__pycache__" not in file.parts]
            parts = [f"{ORPHAN}# {name}\n"]
            for file in files:
                inner = file.relative_to(self.source).as_posix()
                try:
                    text = self.text_of(inner)
                except UnicodeDecodeError:
                    continue
                if file.name == "meson.build" or len(text) > 100000:
                    continue
                if path.is_dir():
                    parts.append(f"\n## {file.relative_to(path).as_posix()}\n")
                fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=2) + 1)
                fence = fence if len(fence) > 3 else "```"
                parts.append(f"\n{fence}{LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n{fence}\n")
            self.write(page, "".join(parts))

    def write_c_reference(self):
        rows = []
        for path in self.headers:
            brief = re.search(r"@brief (.*?)(?=\n \*\n|\n \*/|\. )", path.read_text(encoding="utf-8"), re.DOTALL)
            brief = " ".join(re.sub(r"\n \* ?", " ", brief[1]).split()) if brief else ""
            rows.append(f"| [det/{path.name}](c/{path.stem}.md) | {brief.rstrip('.')} |")
            self.write(f"c/{path.stem}.md", f"{ORPHAN}# det/{path.name}\n\n```{{eval-rst}}\n.. doxygenfile:: {path.name}\n```\n")
        self.write("c-reference.md", "# C reference\n\nEach function, type and constant of the C headers. The\n"
                   "[conventions](conventions.md) hold for all of them. For C++, see the [C++ page](cpp.md).\n\n"
                   "| header | for |\n| --- | --- |\n" + "\n".join(rows) + "\n")

    def write_python_reference(self):
        rows = []
        for module in PYTHON:
            name = module if module == "detcore" else "detcore." + module
            base = self.source / "wrappers/python" / name.replace(".", "/")
            file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
            found = re.search(r'^"""(.*?)(?=\.\s|\.?""")', file.read_text(encoding="utf-8"), re.DOTALL)
            brief = " ".join(found[1].split()) if found else ""
            rows.append(f"| [{name}](python/{name}.md) | {brief} |")
            options = "" if module != "detcore" else "   :no-members:\n"
            self.write(f"python/{name}.md", f"{ORPHAN}# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n{options}```\n")
        self.read.update(path for path in (self.source / "wrappers/python/detcore").rglob("*.py"))
        self.write("python-reference.md", "# Python reference\n\nEach class and function of the package. See also\n"
                   "[how to use it](python.md).\n\n| module | for |\n| --- | --- |\n" + "\n".join(rows) + "\n")

    def remove_leftovers(self, output):
        """Pages that were there at an earlier time, and what Sphinx has made of them."""
        for path in self.stage.rglob("*"):
            if path.is_file() and path not in self.written:
                path.unlink()
                (output / path.relative_to(self.stage).with_suffix(".html")).unlink(missing_ok=True)


def missing():
    """Prints the reason why there can be no site here, if there is one."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "index.rst").write_text("Nothing\n=======\n", encoding="utf-8")
            result = subprocess.run([SPHINX, "-q", "-C", "-D", f"extensions={','.join(EXTENSIONS)}", "-b", "dummy", folder,
                                     f"{folder}/out"], text=True, capture_output=True)
    except OSError:
        print("Sphinx is missing")
    else:
        for extension in EXTENSIONS:
            if result.returncode and f"'{extension}'" in result.stderr + result.stdout:
                print(f"Sphinx has no {extension}")
                return
        print(f"Sphinx fails: {result.stderr}" if result.returncode else "", end="")


def main():
    version, source, output, dependencies, doxyfile = sys.argv[1], *(Path(name).absolute() for name in sys.argv[2:])
    work = output.with_name("site")
    site = Site(source, work / "pages")
    site.write_pages()
    site.write_c_reference()
    site.write_python_reference()
    site.write_shown()
    site.remove_leftovers(output)
    if "index.md" in site.changed:  # perhaps the navigation, which each page has
        shutil.rmtree(work / "doctrees", ignore_errors=True)
    settings = doxyfile.read_text(encoding="utf-8") + f"\nOUTPUT_DIRECTORY = {work}\n"
    subprocess.run([os.environ.get("DOXYGEN", "doxygen"), "-"], input=settings, text=True, check=True)
    environment = {**os.environ, "DETCORE_VERSION": version, "DETCORE_SOURCE": str(source),
                   "DETCORE_XML": str(work / "xml"), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run([SPHINX, "-q", "-W", "--keep-going", "-b", "html", "-c",
                             source / "docs/site", "-d", work / "doctrees", work / "pages", output], env=environment)
    if result.returncode:
        shutil.rmtree(work / "doctrees", ignore_errors=True)  # else the next run would not warn again
        sys.exit(result.returncode)
    (output / ".buildinfo").unlink(missing_ok=True)
    os.utime(output)
    site.read.update((source / "docs/site").rglob("*.*"))
    dependencies.write_text(f"{output}: {' '.join(map(str, sorted(site.read)))}\n", encoding="utf-8")


if __name__ == "__main__":
    missing() if sys.argv[1:] == ["--missing"] else main()
