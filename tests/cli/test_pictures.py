#!/usr/bin/env python3
"""What `det plot` draws in files and in terminals, read by other programs than the one that drew it."""
import base64
import contextlib
import csv
import io
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import xml.etree.ElementTree
import zlib

from harness import DET, Store, main, test

BLUE, WHITE = (0x00, 0x72, 0xB2), (255, 255, 255)


def decode_png(data):
    """Its width, height, and a list of rows of colours. For 8-bit RGB that is not interlaced."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
        chunks[kind] = chunks.get(kind, b"") + body
        at += 12 + length
    width, height, depth, colours, _, _, interlace = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, colours, interlace) == (8, 2, 0)
    raw, size = zlib.decompress(chunks[b"IDAT"]), 3 * width
    rows, before = [], bytearray(size)
    for y in range(height):
        kind, line = raw[y * (size + 1)], bytearray(raw[y * (size + 1) + 1:(y + 1) * (size + 1)])
        for i in range(size if kind else 0):
            left, up, corner = line[i - 3] if i > 2 else 0, before[i], before[i - 3] if i > 2 else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda each: abs(guess - each))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append([tuple(line[x:x + 3]) for x in range(0, size, 3)])
        before = line
    return width, height, rows


def columns_with(rows, colour):
    return {x for row in rows for x, each in enumerate(row) if each == colour}


class Pictured(Store):
    """Trial 1 with a loss of 1 and 3 by turns, trial 2 with powers of ten."""

    def __init__(self):
        super().__init__("many", "many")
        with contextlib.closing(sqlite3.connect(self.database())) as database, database:
            database.execute("""UPDATE metrics SET metrics = '{"loss": ' || (1 + steps % 2 * 2) || '}'
                WHERE trial_id = 1""")
            database.execute("""UPDATE metrics SET metrics = '{"loss": 1e' || (steps / 500) || '}'
                WHERE trial_id = 2""")

    def draw(self, *arguments):
        path = os.path.join(self.home, "plot.png")
        self.run(*arguments, "-o", path, "--size", "400x225")
        with open(path, "rb") as file:
            return decode_png(file.read())


class Searched(Store):
    """Experiment 2 has 40 trials whose loss follows from the learning rate; two have no dropout."""

    def __init__(self):
        super().__init__("complete")
        config = {"searcher": {"name": "random", "metric": "loss"}, "hyperparameters": {
            "opt": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": 0}},
            "units": {"type": "categorical", "vals": [8, 64]}}}
        with contextlib.closing(sqlite3.connect(self.database())) as database, database:
            database.execute("INSERT INTO experiments (name, state, config, created, managed)"
                             " VALUES ('search', 'COMPLETED', ?, 1, 1)", (json.dumps(config),))
            for number in range(40):
                loss = 1 + number * 7 % 40
                hparams = {"opt": {"lr": 10 ** (-4 + number * 7 % 40 / 10), "name": "ab"[number // 4 % 2]},
                           "units": (8, 64)[number // 8 % 2], "same": 1}
                if number > 1:
                    hparams["dropout"] = number * 13 % 40 / 40
                database.execute(
                    "INSERT INTO trials (id, experiment_id, state, hparams, seed, task_id, created, ended,"
                    " restarts) VALUES (?, 2, 'COMPLETED', ?, 1, 'task', 1, 2, 0)",
                    (100 + number, json.dumps(hparams)))
                row = database.execute(
                    "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics) VALUES"
                    " (?, 1, 'validation', 1, 1, ?)", (100 + number, json.dumps({"loss": loss}))).lastrowid
                database.execute("UPDATE trials SET best_validation=?, best_metric=?, best_order=?"
                                 " WHERE id=?", (row, str(loss), loss, 100 + number))

    draw = Pictured.draw


@test
def the_hyperparameter_that_matters_is_the_important_one(searched):
    answer = json.loads(searched.run("plot", "2", "--importance", "--json"))
    shares = {each["name"]: each["importance"] for each in answer["hparams"]}
    assert answer["hparams"][0]["name"] == "opt.lr" and shares.pop("opt.lr") > 0.7, answer
    assert set(shares) == {"opt.name", "units", "dropout"} and max(shares.values()) < 0.2, answer
    text = searched.run("plot", "-e", "2", "--importance")
    assert text.splitlines()[0] == "importance for loss" and text.splitlines()[1].strip().startswith("opt.lr")
    rows = list(csv.DictReader(io.StringIO(searched.run("plot", "2", "--importance", "--csv"))))
    assert rows[0]["name"] == "opt.lr" and float(rows[0]["importance"]) > 0.7
    _, _, rows = searched.draw("plot", "2", "--importance")
    assert max(sum(each == BLUE for each in row) for row in rows) > 300


@test
def parallel_coordinates_have_an_axis_for_what_varies(searched):
    answer = json.loads(searched.run("plot", "2", "--parallel", "--json"))
    assert [(each["name"], each["scale"]) for each in answer["hparams"]] == [
        ("opt.lr", "log"), ("opt.name", "categories"), ("units", "categories"), ("dropout", "linear")]
    assert answer["trials"][0] == {"trial_id": 100, "metric": 1, "hparams": {
        "opt.lr": 0.0001, "opt.name": "a", "units": "8", "dropout": None}}
    rows = list(csv.DictReader(io.StringIO(searched.run("plot", "2", "--slices", "--csv"))))
    assert len(rows) == 40 and rows[0]["hparams.dropout"] == "" and rows[0]["loss"] == "1"
    text = searched.run("plot", "2", "--parallel", "--ascii")
    assert text.isascii() and text.split()[:2] == ["opt.lr", "(log)"] and "*" in text, text
    _, height, rows = searched.draw("plot", "2", "--parallel")
    best = [y for y, row in enumerate(rows) for red, green, blue in row[:700]
            if abs(red - 0x44) + abs(green - 1) + abs(blue - 0x54) < 30]
    assert best and max(best) > height * 0.8  # small learning rates are the best, which are below
    first = [y for y, row in enumerate(rows) for red, green, blue in row[140:156]
             if abs(red - 0x44) + abs(green - 1) + abs(blue - 0x54) < 30]
    assert first and min(first) > height * 0.5


@test
def slices_show_the_metric_over_each_hyperparameter(searched):
    text = searched.run("plot", "2", "--slices")
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count("loss") == 4 and "opt.lr" in lines and "dropout" in lines, text
    assert "0.001" in text and "1e-04" in text
    width, height, rows = searched.draw("plot", "2", "--slices", "--log-y")
    assert (width, height) == (800, 450) and len({each for row in rows for each in row}) > 20
    assert sum(each == BLUE for row in rows for each in row) < 10  # dots, through which others are seen
    for wrong, code in ((["1", "--slices"], 5), (["77", "--parallel"], 3), (["2", "3", "--slices"], 2),
                        (["x", "--slices"], 2), (["2", "--slices", "--parallel"], 2)):
        searched.run("plot", *wrong, expect=code)


@test
def a_png_shows_the_line_where_it_belongs(pictured):
    width, height, rows = pictured.draw("plot", "2", "--log-y")
    assert (width, height) == (800, 450)
    assert rows[0][0] == rows[height - 1][width - 1] == WHITE
    # Five steps of the same height, each a decade above the one before, from left to right.
    levels = sorted({y for y, row in enumerate(rows)
                     if sum(each == BLUE for each in row) > 60})
    tops = [y for y in levels if y - 1 not in levels]
    assert len(tops) == 5, tops
    gaps = [below - above for above, below in zip(tops, tops[1:])]
    assert max(gaps) - min(gaps) <= 1, tops
    lowest, highest = (columns_with([rows[y]], BLUE) for y in (tops[-1] + 1, tops[0] + 1))
    assert max(lowest) < min(highest)


@test
def a_smoothed_line_has_the_raw_one_faint_behind_it(pictured):
    _, _, rows = pictured.draw("plot", "1", "--smooth", "0.99")
    blue = [y for y, row in enumerate(rows) for each in row if each == BLUE]
    faint = [y for y, row in enumerate(rows) for red, green, each in row
             if 150 < red < 245 and each > red + 10]
    # The raw line fills the height, the smoothed one ends in the middle.
    middle = (min(faint) + max(faint)) / 2
    assert min(faint) < min(blue) and max(blue) < max(faint)
    assert abs(sorted(blue)[len(blue) // 2] - middle) < 20


@test
def one_value_is_seen_and_many_lines_share_a_scale(searched):
    _, _, rows = searched.draw("plot", "100")
    assert sum(each == BLUE for row in rows for each in row) > 40
    _, _, rows = searched.draw("plot", "-e", "2", "loss")
    assert max(len(set(row)) for row in rows[50:100]) > 60  # from the first trial to the last


@test
def an_svg_is_xml_and_a_pdf_has_its_texts(pictured):
    root = xml.etree.ElementTree.fromstring(pictured.run("plot", "1", "2", "-o", "-", "--format", "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("viewBox") == "0 0 800 450"
    strokes = [path.get("stroke", path.get("style", "")) for path in root.iter() if path.tag.endswith("path")]
    assert any("0%,44.7" in each for each in strokes), strokes  # the blue
    with contextlib.closing(sqlite3.connect(pictured.database())) as database, database:
        database.execute("UPDATE experiments SET name = '<b>&\"]]>' || char(27) || char(0x202e) WHERE id = 1")
    xml.etree.ElementTree.fromstring(pictured.run("plot", "1", "-o", "-", "--format", "svg"))
    path = os.path.join(pictured.home, "plot.pdf")
    pictured.run("plot", "1", "2", "-o", path)
    with open(path, "rb") as file:
        assert file.read().startswith(b"%PDF-1.")
    if shutil.which("pdftotext"):
        text = subprocess.run(["pdftotext", "-layout", path, "-"], check=True, capture_output=True,
                              text=True).stdout
        for words in ("trials 1, 2", "trial 1", "trial 2", "training.loss", "steps", "2000"):
            assert words in text, text


@test
def a_picture_replaces_the_one_before_as_a_whole(pictured):
    path = os.path.join(pictured.home, "loss.svg")
    with open(path, "w") as file:
        file.write("before")
    pictured.run("plot", "77", "-o", path, expect=3)
    with open(path) as file:
        assert file.read() == "before"
    pictured.run("plot", "1", "-o", path)
    xml.etree.ElementTree.parse(path)
    assert [name for name in os.listdir(pictured.home) if "loss" in name] == ["loss.svg"]
    for wrong, code, words in (((pictured.home, "--format", "svg"), 6, "Is a directory"),
                               ((path + "/x.svg",), 6, "Not a directory"), (("/nowhere/x.pdf",), 6, "/nowhere"),
                               (("plot.jpg",), 2, "svg, pdf or png"), (("-",), 2, "svg, pdf or png"),
                               (("x.svg", "--size", "0x100"), 2, "0x100"),
                               (("x.svg", "--size", "100"), 2, "WIDTHxHEIGHT"), (("x.svg", "--size", "9x9"), 2, "9x9")):
        assert words in pictured.run("plot", "1", "-o", *wrong, expect=code), wrong
    assert "-o" in pictured.run("plot", "1", "--format", "svg", expect=2)
    assert not os.path.exists("plot.jpg")


@test
def a_picture_that_does_not_fit_on_the_disk_leaves_none(pictured):
    path = os.path.join(pictured.home, "big.svg")
    done = subprocess.run(["bash", "-c", 'ulimit -f 48; trap "" XFSZ; "$0" plot 1 -o "$1"', DET, path],
                          env=pictured.env, capture_output=True, text=True)
    assert done.returncode == 6 and "big.svg" in done.stderr, done
    assert not [name for name in os.listdir(pictured.home) if name.startswith("big")]


@test
def without_the_library_the_plot_is_text(pictured):
    alone = os.path.join(pictured.home, "det")
    shutil.copy(DET, alone)
    libraries = os.path.join(os.path.dirname(DET), "..", "..", "capi")
    env = {**pictured.env, "LD_LIBRARY_PATH": libraries}
    done = subprocess.run([alone, "plot", "1", "-o", "x.png"], env=env, capture_output=True, text=True)
    assert done.returncode == 7 and "libpango1.0-dev" in done.stderr, done
    done = subprocess.run([alone, "plot", "1"], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "training.loss" in done.stdout, done


class Emulator:
    """A terminal that answers what it is asked."""

    def __init__(self, name="", sixel=False, kitty=False, silent=False):
        self.answers = {b"\x1b[>q": f"\x1bP>|{name}\x1b\\" if name else "", b"\x1b[16t": "\x1b[6;20;10t",
                        b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\": "\x1b_Gi=31;OK\x1b\\" if kitty else "",
                        b"\x1b[c": "\x1b[?62;4;22c" if sixel else "\x1b[?62;22c"}
        self.silent = silent

    def run(self, store, *arguments, expect=0, typed=b"", **env):
        """What is shown, without the questions."""
        parent, child = pty.openpty()
        process = subprocess.Popen([DET, *arguments], env={**store.env, "COLUMNS": "40", **env},
                                   stdin=subprocess.DEVNULL, stdout=child, stderr=child)
        os.close(child)
        shown = b""
        try:
            while block := os.read(parent, 65536):
                shown += block
                for question, answer in self.answers.items():
                    if question in shown:
                        shown = shown.replace(question, b"")
                        if typed or not self.silent:
                            os.write(parent, typed or answer.encode())
        except OSError:
            pass
        os.close(parent)
        assert process.wait() == expect, (process.returncode, shown)
        return shown


def decode_sixel(data):
    """Its width and height, and how many pixels have each colour."""
    start = re.match(rb"\x1bP[0-9;]*q(?:\"\d+;\d+;(\d+);(\d+))?", data)
    assert start and data.rstrip().endswith(b"\x1b\\"), data[:40]
    colours, counts, colour, x, width = {}, {}, None, 0, 0
    for token in re.finditer(rb"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)(.)|([?-~])|(\$)|(-)",
                             data[start.end():data.rindex(b"\x1b\\")]):
        number, red, green, blue, times, repeated, single, back, down = token.groups()
        if number:
            colour = int(number)
            if red:
                colours[colour] = (int(red), int(green), int(blue))
        elif back or down:
            x = 0
        else:
            many = int(times or 1)
            x += many
            counts[colour] = counts.get(colour, 0) + many * bin((repeated or single)[0] - 63).count("1")
            width = max(width, x)
    totals = {}
    for key, count in counts.items():
        totals[colours[key]] = totals.get(colours[key], 0) + count
    return width, int(start.group(2)), totals


@test
def kitty_gets_a_png_in_pieces(pictured):
    for name in ("kitty(0.35.2)", "ghostty 1.0"):
        shown = Emulator(name, kitty=True).run(pictured, "plot", "1")
        pieces = re.findall(rb"\x1b_G([^;]*);([^\x1b]*)\x1b\\", shown)
        assert re.sub(rb"\x1b_G[^\x1b]*\x1b\\", b"", shown) == b"\r\n", shown
        assert pieces[0][0].startswith(b"a=T,f=100,q=2,c=39,") and len(pieces) > 1
        assert all(keys.endswith(b"m=1") for keys, _ in pieces[:-1]) and pieces[-1][0] == b"m=0"
        assert all(len(data) <= 4096 for _, data in pieces)
        assert all(len(data) % 4 == 0 for _, data in pieces[:-1])
        width, height, rows = decode_png(base64.b64decode(b"".join(data for _, data in pieces)))
        assert (width, height) == (390, 219) and columns_with(rows, BLUE)


@test
def iterm_gets_a_png_at_once(pictured):
    shown = Emulator("iTerm2 3.5.0").run(pictured, "plot", "1")
    found = re.fullmatch(rb"\x1b\]1337;File=inline=1;size=(\d+);width=39;preserveAspectRatio=1:"
                         rb"([A-Za-z0-9+/=]*)\x07\r\n", shown)
    assert found, shown[:100]
    data = base64.b64decode(found.group(2), validate=True)
    assert len(data) == int(found.group(1)) and decode_png(data)[0] == 390


@test
def sixel_is_drawn_where_the_terminal_says_that_it_can(pictured):
    shown = Emulator("foot(1.16)", sixel=True).run(pictured, "plot", "1")
    if b"\x1bP" not in shown:
        return print("# skipped: built without libsixel")
    width, height, counts = decode_sixel(shown)
    assert (width, height) == (390, 219), (width, height)
    assert sum(counts.values()) == 390 * 219
    assert sorted(counts, key=counts.get)[-2:] == [(100, 100, 100), (0, 45, 70)] or (
        sorted(counts, key=counts.get)[-2:] == [(0, 45, 70), (100, 100, 100)]), counts


@test
def other_terminals_get_text_and_nothing_else(pictured):
    for emulator, arguments, env in (
            (Emulator("xterm(380)"), [], {}), (Emulator(), [], {}),
            (Emulator("kitty(0.35.2)"), [], {}),  # that does not say OK
            (Emulator("kitty(0.35.2)", kitty=True), ["--picture", "none"], {}),
            (Emulator("kitty(0.35.2)", kitty=True), ["--ascii"], {}),
            (Emulator("kitty(0.35.2)", kitty=True), [], {"TERM": "dumb"})):
        shown = emulator.run(pictured, "plot", "1", *arguments, NO_COLOR="1", **env)
        assert b"\x1b" not in shown and b"training.loss" in shown, shown
    assert "\x1b" not in pictured.run("plot", "1")
    assert "protocol" in pictured.run("plot", "1", "--picture", "tiff", expect=2)
    assert pictured.run("plot", "1", "--picture", "kitty").startswith("\x1b_G")  # as it was asked for


@test
def a_terminal_that_does_not_answer_is_not_waited_for(pictured):
    shown = Emulator(silent=True).run(pictured, "plot", "1", NO_COLOR="1")
    assert b"\x1b" not in shown and b"training.loss" in shown, shown


@test
def ctrl_c_ends_the_wait_with_the_terminal_as_it_was(pictured):
    Emulator().run(pictured, "plot", "1", typed=b"\x03", expect=-signal.SIGINT)


@test
def a_small_search_tells_nothing_of_importance(searched):
    with contextlib.closing(sqlite3.connect(searched.database())) as database, database:
        database.execute("UPDATE trials SET best_metric = NULL, best_order = 9e999 WHERE id > 108")
    assert "too few trials" in searched.run("plot", "2", "--importance", expect=5)


main({"pictured": Pictured(), "searched": Searched()})
