#!/usr/bin/env python3
"""A hostile neighbour: while programs of one user run, another tries to move, replace, link, read and
write all that he can reach of theirs. Root starts it, since it needs two users.

  neighbour.py FOLDER [--lives N] [--seed S]

FOLDER is where faults_trial was built. The storage is private, shared like /tmp (sticky), or everybody's
by the user's own will; in the last what is complete may be moved or spoiled, and must not be taken for
good. Nothing may hang, nothing may end in another's hands, and no file of the user's may change.
"""

import argparse
import os
import pathlib
import random
import re
import signal
import socket
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from lives import ID, PATIENCE, Place, Programs, judge_end  # noqa: E402

USER, NEIGHBOUR = 12345, 65534
OWN_NAME = r"\.taken[.0-9e-]*"


def become(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


class Neighbour:
    """A process that tries everything on everything, again and again."""

    def __init__(self, place, seed):
        self.place, self.chance = place, random.Random(seed)
        self.log = place.path("neighbour.log")
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.log = open(self.log, "w", buffering=1, encoding="utf-8")
                become(NEIGHBOUR)
                os.umask(0)
                while True:
                    self.walk()
            finally:
                os._exit(1)

    def stop(self):
        """What he managed to do."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        with open(self.log, encoding="utf-8") as log:
            deeds = [line.split(" ", 1) for line in log.read().splitlines()]
        names = [(OWN_NAME, "TAKEN"), (ID, "ID"), (r"/[0-9]+\b", "/N"), (r"tfevents.*", "tfevents")]
        for pattern, name in names:
            deeds = [(what, re.sub(pattern, name, path)) for what, path in deeds]
        return {(what, path) for what, path in deeds if "TAKEN" not in path}

    def managed(self, what, path):
        self.log.write(f"{what} {path}\n")

    def walk(self):
        targets = [self.place.home, self.place.storage]
        for folder, names, files in [entry for root in targets for entry in os.walk(root)]:
            tries = [(self.attack, os.path.join(folder, name)) for name in names + files]
            self.chance.shuffle(tries)
            self.squat(folder)
            for attack, path in tries:
                attack(path)

    def attempt(self, what, path, attempt):
        try:
            attempt()
        except OSError:
            return False
        self.managed(what, path)
        return True

    def squat(self, folder):
        name = os.path.join(folder, f".taken.{self.chance.random()}")
        try:
            is_sticky = os.lstat(folder).st_mode & stat.S_ISVTX
        except OSError:
            return
        self.attempt("made-in-sticky" if is_sticky else "made-in", folder, lambda: (os.mkdir(name), os.rmdir(name)))

    def attack(self, path):
        try:
            status = os.lstat(path)
        except OSError:
            return
        if status.st_uid == NEIGHBOUR:
            return
        own = os.path.join(os.path.dirname(path), f".taken.{self.chance.random()}")
        kinds = [self.read, self.write, self.change, self.link, self.move, self.remove]
        self.chance.shuffle(kinds)
        for kind in kinds[:3]:
            kind(path, status, own)

    def read(self, path, status, _):
        if stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode):
            self.attempt("read", path, lambda: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK)))

    def write(self, path, status, _):
        def spoil():
            file = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                os.write(file, b"spoiled")
            finally:
                os.close(file)
        if not stat.S_ISDIR(status.st_mode):
            self.attempt("wrote", path, spoil)

    def change(self, path, _, __):
        self.attempt("chmod", path, lambda: os.chmod(path, 0o777))

    def link(self, path, status, own):
        if not stat.S_ISDIR(status.st_mode):
            self.attempt("linked", path, lambda: os.link(path, own))

    def move(self, path, status, own):
        """And puts one of his own in its place, now and then for a moment only."""
        if not self.attempt("moved", path, lambda: os.rename(path, own)):
            return
        if stat.S_ISDIR(status.st_mode):
            replace = os.mkdir
        elif path.endswith(".lock"):
            replace = os.mkfifo
        else:  # the program reads it itself
            replace = os.mknod
        self.attempt("replaced", path, lambda: replace(path, 0o777))
        if self.chance.random() < 0.5:
            self.attempt("restored", path, lambda: (os.rmdir(path), os.rename(own, path)))

    def remove(self, path, status, _):
        remove = os.rmdir if stat.S_ISDIR(status.st_mode) else os.unlink
        self.attempt("removed", path, lambda: remove(path))


# Storage → what its mode is before the programs start, and whether everybody may do everything in it.
STORAGES = {"private": (None, False), "sticky": (0o1777, False), "everybody": (0o777, True)}
# What he may do anywhere: see what is not secret, since checkpoints follow the umask.
PUBLIC = re.compile(r"read /checkpoints/(\.partial/)?(\.removed-)?ID/.*")


def judge_deeds(place, deeds, kind, everybody):
    for what, path in sorted(deeds):
        deed = f"{what} {path.removeprefix(place.folder)}"
        in_storage = path.startswith(place.storage)
        is_shared = what == "made-in-sticky" and kind == "sticky" and in_storage
        if not (PUBLIC.fullmatch(deed) or (everybody and in_storage) or is_shared):
            yield f"the neighbour {deed}"


def judge_files(place, everybody):
    """Nothing that counts as ours may be his."""
    for folder, names, files in os.walk(place.home):
        for name in names + files:
            if os.lstat(os.path.join(folder, name)).st_uid != USER:
                yield f"of another owner: {place.without_names(os.path.join(folder, name))}"
    for name in os.listdir(place.storage) if os.path.isdir(place.storage) and not everybody else []:
        if re.fullmatch(ID, name) and os.lstat(os.path.join(place.storage, name)).st_uid != USER:
            yield "a checkpoint of another owner"


def prepare(kind, umask):
    place = Place()
    os.chmod(place.folder, 0o755)
    if STORAGES[kind][0]:
        os.mkdir(place.storage)
        os.chmod(place.storage, STORAGES[kind][0])
    for path in (place.home, *([] if kind == "sticky" else [place.storage] * os.path.isdir(
            place.storage))):
        os.chown(path, USER, USER)
    if not os.path.isdir(place.storage):
        os.mkdir(place.storage)
        os.chmod(place.storage, 0o777 & ~umask)
        os.chown(place.storage, USER, USER)
    return place


def run_lives(programs, place, count, umask, everybody=False):
    """What is wrong with how lives end; a failure in words is none."""
    for number in range(count):
        place.environment["DET_EXTERNAL_ID"] = f"life-{number}"
        ledger = place.path(f"ledger-{number}")
        pathlib.Path(ledger).touch()
        os.chown(ledger, USER, USER)
        ended = place.run(programs.limit, sys.executable, __file__, "--as-user", str(umask),
                          programs.trial, "live", place.master, place.storage, ledger)
        for what in judge_end("", *ended)[1]:
            if not (everybody and what.startswith("wrong: ")):  # it was spoiled after it was checked
                yield what


def look(programs, place, count, everybody):
    """Whatever is restored is whole; what he spoiled is refused in words. Files that a program makes
    writable for everybody he may spoil before they are saved."""
    for number in range(count):
        place.environment["DET_EXTERNAL_ID"] = f"life-{number}"
        status, _, said = place.run(programs.limit, sys.executable, __file__, "--as-user", "18",
                                    programs.trial, "look", place.master, place.storage)
        for what in judge_end("", status, "", said)[1]:
            if not (everybody and what.startswith("wrong: ")):
                yield what
        for line in said:
            if "DET_E_" in line and not re.search("DET_E_(CORRUPT|NOT_FOUND|ACCESS|CONFLICT)", line):
                yield place.without_names(line)


def one(programs, kind, umask, lives, seed):
    everybody = STORAGES[kind][1] or umask == 0
    with prepare(kind, umask) as place:
        neighbour = Neighbour(place, seed)
        try:
            wrong = list(run_lives(programs, place, lives, umask, everybody))
        finally:
            deeds = neighbour.stop()
        wrong += judge_deeds(place, deeds, kind, everybody)
        wrong += judge_files(place, everybody)
        wrong += look(programs, place, lives, everybody)
        print(f"# storage {kind}, umask {umask:03o}: {lives} lives, {len(deeds)} deeds", flush=True)
        return sorted({f"storage {kind}, umask {umask:03o}: {place.without_names(what)}"
                       for what in wrong})


# What may stand where ours is to be, before we come: `make(path, precious)`.
SQUATS = {
    "a directory": lambda path, _: os.mkdir(path, 0o777),
    "a file": lambda path, _: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666)),
    "a FIFO": lambda path, _: os.mkfifo(path, 0o666),
    "a socket": lambda path, _: socket.socket(socket.AF_UNIX).bind(path),
    "a link": lambda path, precious: os.symlink(precious, path),
    "a link to a file": lambda path, precious: os.symlink(os.path.join(precious, "file"), path),
}
PLACES = [".partial", ".partial/.take-over"]


def squat(programs, kind, where, what):
    """He was there first."""
    with prepare(kind, 0o022) as place:
        precious = place.path("precious")
        os.mkdir(precious)
        pathlib.Path(precious, "file").write_text("precious", encoding="utf-8")
        for path in (precious, os.path.join(precious, "file")):
            os.chown(path, USER, USER)
        child = os.fork()
        if child == 0:
            become(NEIGHBOUR)
            os.umask(0)
            path = os.path.join(place.storage, where)
            if "/" in where:
                os.mkdir(os.path.dirname(path), 0o777)
            SQUATS[what](path, precious)
            os._exit(0)
        os.waitpid(child, 0)
        wrong = list(run_lives(programs, place, 1, 0o022)) + list(judge_files(place, True))
        wrong += look(programs, place, 1, everybody=False)
        if os.listdir(precious) != ["file"] or pathlib.Path(precious, "file").read_text(
                encoding="utf-8") != "precious":
            wrong.append("what is precious to the user is changed")
        return sorted({f"storage {kind}, {what} at {where}: {place.without_names(one)}"
                       for one in wrong})


def main():
    if sys.argv[1] == "--as-user":
        os.umask(int(sys.argv[2]))
        become(USER)
        os.execv(sys.argv[3], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--lives", type=int, default=5)
    parser.add_argument("--limit", type=float, default=PATIENCE)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    if os.getuid() != 0:
        print("skipped: only root can be two users")
        sys.exit(77)
    os.umask(0o022)
    print(f"# seed {options.seed}", flush=True)
    programs = Programs(options.folder, options.limit)
    wrong = []
    for kind in STORAGES:
        for umask in (0o022, 0o000):
            wrong += one(programs, kind, umask, options.lives, options.seed)
        for where in PLACES:
            for what in SQUATS if kind != "private" else ():
                wrong += squat(programs, kind, where, what)
    for what in wrong:
        print(f"not so: {what}")
    print(f"{len(wrong)} findings")
    sys.exit(bool(wrong))


main()
