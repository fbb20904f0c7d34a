"""The configuration of the site for Sphinx; build.py runs it over the pages that it has prepared."""

import gc
import importlib.util
import os
import re
import sys
from pathlib import Path
from unittest.mock import MagicMock

import breathe

gc.set_threshold(200000)  # Sphinx makes millions of small objects that live long

project = "detcore"
author = "detcore"
version = release = os.environ["DETCORE_VERSION"]
source = Path(os.environ["DETCORE_SOURCE"])

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
default_role = "code"
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # an example with `...` in it is shown without colours
myst_heading_anchors = 6

# The C reference comes from the XML that Doxygen writes.
breathe_projects = {"detcore": os.environ["DETCORE_XML"]}
breathe_default_project = "detcore"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
c_id_attributes = ["DET_API", "DET_NOEXCEPT"]

# The Python reference needs neither the library nor the frameworks: autodoc only reads signatures and comments.
sys.path.insert(0, str(source / "wrappers/python"))
sys.dont_write_bytecode = True
autodoc_mock_imports = ["joblib", "keras", "lightgbm", "lightning", "numpy", "optuna", "pytorch_lightning",
                        "sklearn", "tensorflow", "threadpoolctl", "torch",
                        "transformers", "xgboost"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo" if importlib.util.find_spec("furo") else "alabaster"
html_title = f"detcore {version}"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_permalinks_icon = "#"
html_static_path = [str(source / "docs/site/static")]
html_css_files = ["site.css"]


SECTIONS = r"(Args|Arguments|Attributes|Raises|Returns|Yields):"  # which napoleon reads


def restructured(lines):
    """A docstring is plain text with `code`, sections and indented examples. Sphinx reads reStructuredText."""
    text, is_example, in_section = [], False, False
    for line in lines:
        indented = line.startswith("    ")
        if line.strip() and not indented:
            is_example, in_section = False, re.fullmatch(SECTIONS, line.strip()) is not None
        elif indented and not is_example and not in_section and (not text or not text[-1].strip()):
            text += ["::", ""]
            is_example = True
        if re.fullmatch("Examples?:", line):
            text += [line, "", "::", ""]
            is_example = True
        elif is_example:
            text.append(line)
        else:
            parts = re.split(r"(`+)(.+?)\1", line)  # text, backquotes, code, text, ...
            text.append("".join(
                re.sub(r"([*|\\]|\b_|_\b)", r"\\\1", part) if place % 3 == 0 else f"``{part}``" if place % 3 == 2 else ""
                for place, part in enumerate(parts)))
    return text


def change_docstring(_app, _what, _name, _object, _options, lines):
    lines[:] = restructured(lines)


def rename_search(app):
    """Sphinx calls the page that shows what a search found search.html, which is docs/search.md here."""
    handle_page = app.builder.handle_page

    def handle(name, context, templatename="page.html", *arguments, **options):
        handle_page("find" if templatename == "search.html" else name, context, templatename, *arguments, **options)

    app.builder.handle_page = handle


def change_links(_app, _name, _template, context, _doctree):
    pathto = context["pathto"]
    context["pathto"] = lambda name, *more, **named: pathto("find" if name == "search" and not more else name, *more,
                                                            **named)


def setup(app):
    import ctypes

    library = MagicMock(_name="libdetcore.so")
    library.det_version.return_value = sys.maxsize
    ctypes.CDLL = lambda *arguments, **options: library
    app.connect("builder-inited", rename_search)
    app.connect("html-page-context", change_links)
    app.connect("autodoc-process-docstring", change_docstring, priority=100)  # ahead of napoleon
