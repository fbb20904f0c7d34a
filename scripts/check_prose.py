#!/usr/bin/env python3
"""Counts what makes prose hard to read: words to avoid, sentences that start with a clause as their subject,
sentences of more than 25 words, lines of prose over 100 columns, and pages whose mean sentence has more than 15 words.

Usage: check_prose.py ROOT [FILE...]     Markdown pages, C headers, Python files, messages in C++, and the comments and
       messages of examples; without FILE, all that users read.
       check_prose.py --det DET ROOT     the help of the command, and of each of its commands, too
Prints each find, and one line for each file that has any. Fails if there is one."""

import argparse
import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

# A word or phrase, and the plain words for it.
avoided = {
    r"but for|other than": "except",
    r"as a rule|(?<!soon )(?<!long )as it is": "normally, usually, unchanged",
    r"go(?:es|ing|ne)? on|went on": "continue, resume",
    r"(?:is|are|was|were|be|been|being) told|(?:hear|learn)s? of": "receive, see, get",
    r"tells? of|tells? it|(?:messages?|logs?|warnings?|errors?|lines?) says?|this is told in": "report, see",
    r"has the machine for itself": "runs alone",
    r"there (?:is|are|was|were) none|what is not there|(?:is|are) not there": "missing",
    r"of (?:one's|its|their|your|our|his|her|my) own": "your own, separate",
    r"the original": "Determined",
    r"ours": "detcore",
    r"lies|stands(?! for)|stood|laid": "is",
    r"likewise|thereby|had better|by and by": "also, should, later, or leave it out",
    r"so many|as many as": "the number of",
    r"who is first|whose it is": "the first process, the owner",
    r"a power cut does not take": "it survives a power cut",
}
avoided_words = [(re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE), plain) for words, plain in avoided.items()]
clause = re.compile(r"(?:What|Who|Whoever|Whatever|Whose|Whom|Where|Wherever|Which|Whichever|Whether|How)\b[^?]*$")
long_sentence, long_mean, long_line = 25, 15, 100


def sentences(text):
    """The sentences of a paragraph, in which code, links and numbers count as a word each."""
    text = re.sub(r"(`+)(?:(?!\1).)+?\1", "CODE", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://[^\s)>]*[^\s)>.,;:]", "LINK", text)
    text = re.sub(r"\b(?:e\.g|i\.e|etc|vs|cf|approx)\.", lambda found: found[0].replace(".", ""), text)
    text = re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", text)
    return [part.strip() for part in re.split(r"(?<=[.!?])[)\"']?\s+(?=[^a-z])", " ".join(text.split())) if part.strip()]


def words(sentence):
    return len([word for word in sentence.split() if re.search(r"\w", word)])


def markdown(text):
    """Yields (line, kind, paragraph): 'prose', 'cell' of a table or 'heading'."""
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    paragraph, first, fence = [], 0, None
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped = re.sub(r"^(?:> ?)+", "", line.strip())
        begins = re.match(r"(?:[-*+]|\d+\.) |#|\||```|~~~|:?--+|!!! |\?\?\? ", stripped)
        if paragraph and (not stripped or begins or fence):
            yield first, "prose", " ".join(paragraph)
            paragraph = []
        if mark := re.match(r"```+|~~~+", stripped):
            fence = None if fence else mark[0]
        elif fence or not stripped or re.match(r"<[^>]*>$", stripped):
            continue
        elif stripped.startswith("#"):
            yield number, "heading", stripped.lstrip("# ")
        elif stripped.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if re.search(r"\w", cell):
                    yield number, "cell", cell.strip()
        else:
            if not paragraph:
                first = number
            paragraph.append(re.sub(r"^(?:[-*+]|\d+\.) ", "", stripped))


def comments(text):
    """The paragraphs of the comments of a C header. A declaration inside a comment is not prose."""
    for found in re.finditer(r"/\*(.*?)\*/|((?:^[^\n\"]*?//[^\n]*\n)+)", text, re.DOTALL | re.MULTILINE):
        body = found[1] if found[1] is not None else re.sub(r"^[^\n]*?//+<?", "", found[2], flags=re.MULTILINE)
        if found[1] is not None and "\n" not in body and "SPDX" in body:
            continue
        body = re.sub(r"^[ \t]*\*+<?", "", body.lstrip("*<!"), flags=re.MULTILINE)
        body = re.sub(r"@code.*?@endcode", "\n", body, flags=re.DOTALL)
        body = re.sub(r"@(?:p|c|ref|a|e)\s+(\S+)", r"`\1`", body)
        body = re.sub(r"@(?:param(?:\[[a-z,]*\])?|retval)\s+\S+|@\w+(?:\[[a-z,]*\])?|[@\\][{}]", "\n\n", body)
        body = re.sub(r";(?=\s+`?DET_)", ".", body)  # a list of codes
        first = text.count("\n", 0, found.start()) + 1
        for line, kind, paragraph in markdown(body):
            yield first + line - 1, kind, paragraph


def docstrings(text):
    """Those of modules, classes and functions, in which each name under `Args:` and `Raises:` begins a paragraph."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                lines = re.sub(r"^ *(?:Args|Returns|Raises|Yields):$", "", first.value.value, flags=re.MULTILINE)
                lines = re.sub(r"^ {4,}`?[\w*]+`?: ", "- ", lines, flags=re.MULTILINE)
                for line, kind, paragraph in markdown(re.sub(r"``", "`", lines)):
                    yield first.lineno + line - 1, kind, paragraph


def messages(text):
    """The texts in the code of C++, of which some are messages and lines of the log. Texts that follow each other are one."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
        yield text.count("\n", 0, found.start()) + 1, "heading", re.sub(r'"\s*"', "", found[0])


# Texts and comments of C, C++, Go, Java, JavaScript or Rust; of Python; of shell scripts and YAML, where a comment follows a
# space. A text of several lines is prose in Python alone.
quoted = r"""(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)')"""
of_c = re.compile(
    r'''R"\(.*?\)"|r#".*?"#|""".*?"""|`[^`]*`|/\*+<?(?P<block>.*?)\*/|//+[!<]?(?P<line>[^\n]*)|''' + quoted, re.DOTALL)
of_python = re.compile(r'''"""(?P<block>.*?)"""|\#(?P<line>[^\n]*)|''' + quoted, re.DOTALL)
of_shell = re.compile(r"(?:^|(?<=\s))#(?P<line>(?!!|SBATCH|shellcheck)[^\n]*)", re.MULTILINE)
examples = {
    **dict.fromkeys((".c", ".cc", ".h", ".hpp", ".go", ".java", ".js", ".rs"), of_c), ".py": of_python,
    **dict.fromkeys((".sh", ".sbatch", ".yaml"), of_shell)}


def example(pattern):
    """A reader of an example's comments and texts. Comments that fill consecutive lines are one. An indented line of a
    comment is a command."""

    def read(text):
        blocks, last = [], 0
        for found in pattern.finditer(text):
            line, parts = text.count("\n", 0, found.start()) + 1, found.groupdict()
            if parts.get("text"):
                yield line, "heading", parts["text"]
            elif parts.get("block"):
                margin = found.start() - text.rfind("\n", 0, found.start()) - 1 if found[0][0] == '"' else 0
                blocks.append([line, " " * margin + re.sub(r"\n *\*(?= |\n)", "\n", parts["block"])])
            elif parts.get("line"):
                whole = not text[: found.start()].rpartition("\n")[2].strip()
                if whole and blocks and line == last + 1:
                    blocks[-1][1] += "\n" + parts["line"]
                else:
                    blocks.append([line, parts["line"]])
                last = line if whole else 0
        for line, block in blocks:
            for number, kind, paragraph in markdown(re.sub(r"(?m)^ {4}.*$", "", inspect.cleandoc("\n" + block))):
                yield line + number - 1, kind, re.sub(r"``", "`", paragraph)

    return read


readers = {".md": markdown, ".h": comments, ".hpp": comments, ".py": docstrings, ".cc": messages, ".cu": messages}


def help_text(text):
    """The paragraphs of a help, and the texts of its tables. Examples and the names in a table are not prose."""
    for block in re.finditer(r"(?:[^\n]+\n?)+", text):
        title, *lines = block[0].rstrip("\n").split("\n")
        line = text.count("\n", 0, block.start()) + 1
        if not title.startswith(" ") and not (title.endswith(":") and lines and lines[0].startswith("  ")):
            if not title.startswith("Usage: "):
                yield line, "prose", " ".join([title, *lines])
        elif not title.startswith(("Example", " ")):
            rows = []
            for number, row in enumerate(lines, line + 1):
                if re.match(r"  \S", row):
                    rows.append((number, re.split(r"\s{2,}", row.strip(), maxsplit=1)[1:]))
                else:
                    rows[-1][1].append(row.strip())
            yield from ((number, "cell", " ".join(texts)) for number, texts in rows)


def helps(det, *words):
    """The help of the command, of its topics, and of each command that it lists, which is before the options."""
    text = subprocess.run([det, *words, "--help"], capture_output=True, text=True, check=True).stdout
    yield " ".join(["det", *words, "--help"]), text
    listed = re.sub(r"^Arguments:\n(?:  .*\n)*", "", text.split("\nOptions:")[0], flags=re.MULTILINE)
    for command in re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE):
        yield from helps(det, *words, command)
    for topic in re.findall(r"'det help ([a-z-]+)'", text) if not words else []:
        yield f"det help {topic}", subprocess.run([det, "help", topic], capture_output=True, text=True, check=True).stdout


def read_by_users(root):
    yield root / "README.md"
    yield root / "CONTRIBUTING.md"
    yield from sorted(root.glob("docs/**/*.md"))
    yield from sorted(root.glob("include/det/*.h"))
    yield from sorted(root.glob("wrappers/cpp/det/*.h*"))
    yield from (path for path in sorted(root.glob("wrappers/python/detcore/**/*.py")) if path.name != "_abi.py")
    for folder in ("core", "capi", "wrappers"):
        yield from sorted(path for path in root.glob(f"{folder}/**/*") if path.suffix in (".cc", ".cu"))
    yield from sorted(path for path in root.glob("examples/**/*") if path.suffix in {".md", *examples})


def reader_of(path, root):
    if path.suffix in examples and "examples" in path.resolve().relative_to(root.resolve()).parts[:1]:
        return example(examples[path.suffix])
    return readers[path.suffix]


def finds(paragraphs):
    """What is wrong with a text: (line, what), and the words of each sentence of its prose."""
    found, lengths = [], []
    for line, kind, paragraph in paragraphs:
        plain = re.sub(r"(`+)(?:(?!\1).)+?\1", "CODE", paragraph)
        for pattern, better in avoided_words:
            found += [(line, "word", f"'{hit[0]}': write {better}") for hit in pattern.finditer(plain)]
        if kind == "heading":
            continue
        for sentence in sentences(paragraph):
            count = words(sentence)
            if kind == "prose":
                lengths.append(count)
                if clause.match(sentence):
                    found.append((line, "clause", f"starts with a clause as its subject: {sentence[:70]}"))
            if count > long_sentence:
                found.append((line, "long", f"a sentence of {count} words: {sentence[:70]}"))
    return found, lengths


def wide_lines(text):
    fence = False
    for number, line in enumerate(text.splitlines(), 1):
        fence ^= line.lstrip().startswith("```")
        if len(line) > long_line and not fence and not re.match(r"\s*(?:\||<!--|\[[^\]]*\]: |!\[)|.*\]\(\S{60,}\)\S*$", line):
            yield number, "wide", f"{len(line)} columns"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--det", help="the command, whose help is checked too")
    parser.add_argument("--quiet", action="store_true", help="only the sums")
    parser.add_argument("root", type=Path)
    parser.add_argument("file", nargs="*", type=Path)
    arguments = parser.parse_args()
    sums, pages, total = {}, 0, []
    texts = [(path, reader_of(path, arguments.root), path.read_text()) for path in arguments.file or read_by_users(arguments.root)]
    texts = [(str(path.resolve().relative_to(arguments.root.resolve())), reader, text) for path, reader, text in texts]
    if arguments.det:
        texts += [(name, help_text, text) for name, text in helps(arguments.det)]
    for name, reader, text in texts:
        found, lengths = finds(reader(text))
        if name.endswith(".md"):
            found += wide_lines(text)
            total += lengths
        mean = sum(lengths) / len(lengths) if lengths else 0
        if name.endswith(".md") and mean > long_mean:
            found.append((1, "mean", f"the mean sentence has {mean:.1f} words"))
        pages += 1
        for line, kind, what in sorted(found):
            sums[kind] = sums.get(kind, 0) + 1
            if not arguments.quiet:
                print(f"{name}:{line}: {what}")
        if found:
            print(f"{name}: {len(found)} finds, mean sentence {mean:.1f} words")
    print(f"{pages} files: " + ", ".join(f"{sums.get(kind, 0)} {text}" for kind, text in (
        ("word", "words to avoid"), ("clause", "clauses as subject"), ("long", "sentences over 25 words"),
        ("wide", "lines over 100 columns"), ("mean", "pages over 15 words a sentence")))
        + (f"; mean sentence of the pages {sum(total) / len(total):.1f} words" if total else ""))
    sys.exit(1 if sums else 0)


main()
