#!/usr/bin/env python3
"""Builds the site and checks it: every page is there, the search knows their words, and no network is needed.

Usage: site.py SOURCE BUILD VERSION    BUILD is where meson has left the Doxyfile, and the place for the site
       site.py SOURCE --skip REASON
"""

import re
import subprocess
import sys
from pathlib import Path

source, build = Path(sys.argv[1]), Path(sys.argv[2])
if sys.argv[2] == "--skip":
    print(f"skipped: there is no site: {sys.argv[3]}")
    sys.exit(77)
site = build / "checked/html"
site.parent.mkdir(exist_ok=True)
result = subprocess.run([source / "docs/site/build.py", sys.argv[3], source, site, site.with_suffix(".d"),
                         build / "Doxyfile"])
if result.returncode:
    sys.exit(1)
failures = []

expected = ["index.html", "find.html", "introduction.html", "contributing.html", "changelog.html", "c-reference.html",
            "python-reference.html", "python/detcore.core.html"]
expected += [f"c/{path.stem}.html" for path in source.glob("include/det/*.h")]
expected += [re.sub("README.html$", "index.html", path.relative_to(source / "docs").with_suffix(".html").as_posix())
             for path in source.glob("docs/**/*.md")]
failures += [f"there is no {name}" for name in sorted(expected) if not (site / name).is_file()]

titles = {path: re.search(r"^# (.*)", path.read_text(), re.MULTILINE)[1] for path in source.glob("docs/*.md")}
for path, title in titles.items():
    page = site / path.with_suffix(".html").name
    if page.name != "README.html" and page.is_file():
        plain = re.sub(r"<[^>]*>", "", re.search(r"<h1>(.*?)</h1>", page.read_text(), re.DOTALL)[1])
        if re.sub(r"\W", "", re.sub(r"`", "", title)) not in re.sub(r"&\w+;|\W", "", plain):
            failures.append(f"{page.name} has the title {plain!r}, and {path.name} {title!r}")

index = (site / "searchindex.js").read_text()
for word in ["det_checkpoint_writer_commit", "preemption", "DistributedContext", "asha"]:
    if word.lower() not in index.lower():
        failures.append(f"the search does not know {word}")

for path in sorted(site.rglob("*")):
    if path.suffix not in (".html", ".css"):
        continue
    text = path.read_text(encoding="utf-8")
    loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)", text)
    loaded += re.findall(r"(?:@import\s+[\"']|url\([\"']?)((?:https?:)?//[^\"')]+)", text)
    failures += [f"{path.relative_to(site)} loads {name}" for name in loaded]
    if path.suffix == ".html":
        for link in re.findall(r"<(?:a|link|script|img)\b[^>]*\b(?:src|href)=\"([^\"#?:]+)[#?]?[^\":]*\"", text):
            if not (path.parent / link).exists():
                failures.append(f"{path.relative_to(site)} links to {link}, which is missing")

print("\n".join(sorted(set(failures))))
sys.exit(1 if failures else 0)
