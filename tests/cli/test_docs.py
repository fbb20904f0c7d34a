#!/usr/bin/env python3
"""`det docs` on an installation of a few pages, which stands anywhere."""
import atexit
import os
import shutil
import subprocess
import tempfile

from harness import DET, main, test


class Installation:
    """A prefix with `det` and these pages, and a browser that writes down what it is asked to open."""

    def __init__(self, *pages):
        self.prefix = tempfile.mkdtemp(prefix="det-docs-")
        atexit.register(shutil.rmtree, self.prefix, True)
        os.mkdir(os.path.join(self.prefix, "bin"))
        shutil.copy(DET, os.path.join(self.prefix, "bin", "det"))
        for page in pages:
            path = self.path(page)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(f"This is {page}.\n")
        self.opened = os.path.join(self.prefix, "opened")
        self.browser = self.program("browser", f'echo "$1" >> {self.opened}')

    def path(self, page):
        return os.path.join(self.prefix, "share", "doc", "detcore", page)

    def program(self, name, text):
        path = os.path.join(self.prefix, "bin", name)
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
        return path

    def run(self, *words, expect=0, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")}
        done = subprocess.run([os.path.join(self.prefix, "bin", "det"), *words], capture_output=True,
                              text=True, timeout=60, env={**environment, "PAGER": "", **variables})
        assert done.returncode == expect, done
        return done.stdout if expect == 0 else done.stderr

    def opens(self, *words, **variables):
        """What the browser was asked to open."""
        assert self.run("docs", *words, **variables) == ""
        with open(self.opened) as file:
            text = file.read().strip()
        os.remove(self.opened)
        return text


SITE = ("html/index.html", "html/404.html", "html/checkpoints/index.html", "html/tutorials/loop.html",
        "html/c/det_core.html", "docs/README.md", "docs/checkpoints.md", "docs/tutorials/loop.md",
        "docs/only-here.md", "README.md")
site = Installation(*SITE)
text = Installation("README.md", "docs/README.md", "docs/checkpoints.md")
nothing = Installation()


@test
def the_browser_opens_the_site(store):
    assert site.opens(BROWSER=site.browser) == site.path("html/index.html")
    assert site.opens(BROWSER=f"/no/such:{site.browser} %s") == site.path("html/index.html")
    site.program("xdg-open", f'echo "desktop $1" >> {site.opened}')
    path = {"PATH": f"{site.prefix}/bin:{os.environ['PATH']}"}
    assert site.opens(DISPLAY=":0", **path) == "desktop " + site.path("html/index.html")
    assert site.run("docs", **path) == site.path("html/index.html") + "\n"  # there is no desktop


@test
def a_page_has_its_name(store):
    for name, page in (("checkpoints", "html/checkpoints/index.html"),
                       ("tutorials/loop", "html/tutorials/loop.html"),
                       ("loop", "html/tutorials/loop.html"), ("det_core", "html/c/det_core.html")):
        assert site.opens(name, BROWSER=site.browser) == site.path(page), name
    assert site.opens("README", BROWSER=site.browser) == site.path("html/index.html")
    assert site.run("docs", "only-here") == "This is docs/only-here.md.\n"


@test
def print_opens_nothing(store):
    for words in (["--print"], ["--print", "checkpoints"], ["checkpoints", "--print"]):
        path = site.run("docs", *words, BROWSER=site.browser).strip()
        assert os.path.isfile(path) and path.startswith(site.prefix), path
    assert not os.path.exists(site.opened)
    assert text.run("docs", "--print", "checkpoints") == text.path("docs/checkpoints.md") + "\n"


@test
def without_a_browser_the_path_is_printed(store):
    assert site.run("docs", "checkpoints") == site.path("html/checkpoints/index.html") + "\n"
    broken = site.program("broken", "exit 3")
    assert site.run("docs", BROWSER=broken) == site.path("html/index.html") + "\n"


@test
def without_a_site_the_pages_are_shown(store):
    assert text.run("docs", BROWSER=text.browser) == "This is docs/README.md.\n"
    assert text.run("docs", "checkpoints") == "This is docs/checkpoints.md.\n"
    assert Installation("README.md", "docs/a.md").run("docs") == "This is README.md.\n"


@test
def an_unknown_page_names_near_ones(store):
    assert "no page 'chekpoints'; did you mean 'checkpoints'?" in site.run("docs", "chekpoints", expect=3)
    assert "did you mean 'tutorials/loop'?" in site.run("docs", "tutorial", expect=3)
    said = site.run("docs", "xyzzy", expect=3)
    assert "did you mean" not in said and "'det docs'" in said, said
    assert "'meson install'" in nothing.run("docs", expect=3)


@test
def completion_knows_the_pages(store):
    pages = [line.split("\t")[0] for line in site.run("__complete", "--", "docs", "").splitlines()]
    assert pages == ["README", "checkpoints", "only-here", "tutorials/loop"], pages


@test
def the_prefix_may_be_moved(store):
    moved = Installation("html/index.html")
    before, moved.prefix = moved.prefix, moved.prefix + "-moved"
    os.rename(before, moved.prefix)
    atexit.register(shutil.rmtree, moved.prefix, True)
    assert moved.run("docs", "--print") == moved.path("html/index.html") + "\n"


main({})
