"""Manual pages as text of man(7)."""

import os
import time

ESCAPES = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})


def escape(text):
    text = text.translate(ESCAPES)
    return r"\&" + text if text.startswith(".") else text


def bold(text):
    return r"\fB" + escape(text) + r"\fR"


class Page:
    def __init__(self, name, section, version, summary):
        self.name, self.section = name, section
        date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
        self.lines = [f'.TH {name.upper()} {section} {date} "detcore {version}" "detcore manual"',
                      ".nh", ".ad l", ".SH NAME", f"{name} \\- {escape(summary)}"]

    def heading(self, title):
        self.lines.append(f'.SH "{escape(title)}"')

    def subheading(self, title):
        self.lines.append(f'.SS "{escape(title)}"')

    def paragraph(self, text):
        """Text that is escaped, or made of bold() and escape()."""
        if not self.lines[-1].startswith((".SH", ".SS")):
            self.lines.append(".PP")
        self.lines.append(text)

    def entry(self, term, text):
        """One of a list of terms; a term without a text is a paragraph."""
        if text:
            self.lines += [".TP", bold(term), escape(text)]
        else:
            self.paragraph(bold(term))

    def preformatted(self, lines):
        self.paragraph(".nf")
        self.lines += [escape(line) for line in lines] + [".fi"]

    def see_also(self, pages):
        self.heading("See also".upper())
        self.paragraph(", ".join(f"{bold(name)}({section})" for name, section in pages))

    def write(self, folder):
        (folder / f"{self.name}.{self.section}").write_text("\n".join(self.lines) + "\n", encoding="utf-8")
