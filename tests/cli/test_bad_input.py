#!/usr/bin/env python3
"""Every command with ids that are not there, of another kind or ambiguous, on terminals of all kinds,
and with output that nobody reads."""
import contextlib
import os
import re
import sqlite3
import subprocess
import uuid

from harness import DET, Store, main, test

# What each command shows of the store, and what shows nothing of one.
READING = """ls|ls 1|ls -e|experiments|trials 1|best 1|show 1|show -e 1|show {uuid}|metrics 1|metrics 2 -r
plot 1|plot 1 2 loss|plot 1 --csv|plot -e 1|compare 1 2|compare -e 1|export 1|export -e 1 --table trials
logs 1|logs 1 --run 1 --rank 0 --tail 2|wait 1|checkpoints|checkpoints 1|gc 1 --dry-run|sync|help|help plot|version|completion bash
config show {config}|config check {config}""".replace("\n", "|").split("|")

# How each is called with an id of what it acts on.
OF_TRIALS = ["show", "metrics", "plot", "plot 1", "compare 1", "export", "logs", "checkpoints", "pause",
             "activate", "cancel", "kill", "resume", "wait", "wait 1"]
OF_EXPERIMENTS = ["show -e", "ls", "trials", "best", "hparams", "gc", "compare -e", "export -e",
                  "pause -e", "activate -e", "cancel -e", "kill -e",
                  "resume -e", "wait -e", "wait -e 1"]


class Filled(Store):
    def __init__(self):
        super().__init__("complete", "many")
        self.config = os.path.join(self.home, "config.yaml")
        with open(self.config, "w") as file:
            file.write("name: größe\nentrypoint: ./train\n"
                       "searcher: {name: single, metric: loss, max_length: {batches: 5}}\n")
        self.uuid = self.lines("checkpoints")[0]["uuid"]
        with contextlib.closing(sqlite3.connect(self.database())) as database, database:
            names = ", ".join(name for (name,) in database.execute(
                "SELECT name FROM pragma_table_info('checkpoints') WHERE name NOT IN ('uuid', 'id')"))
            for end in "12":
                database.execute(f"INSERT INTO checkpoints (uuid, {names}) SELECT"
                                 f" 'eeeeeeee-0000-4000-8000-00000000000{end}', {names}"
                                 f" FROM checkpoints WHERE uuid='{self.uuid}'")

    def commands(self):
        return [line.format(uuid=self.uuid, config=self.config).split() for line in READING]


@test
def ids_that_are_not_there_are_not_found(filled):
    for command in OF_TRIALS:
        for text in ("77", "external:77", "no-such-run", "größe", str(uuid.uuid4())):
            filled.run(*command.split(), text, expect=3)
    for command in OF_EXPERIMENTS:
        assert "77" in filled.run(*command.split(), "77", expect=3)


@test
def ids_of_another_kind_are_told_apart(filled):
    for command in set(OF_TRIALS) - {"show", "plot 1"}:
        message = filled.run(*command.split(), filled.uuid, expect=3)
        assert f"is checkpoint {filled.uuid}, and no trial; it is of trial 1" in message, message
    for command in OF_EXPERIMENTS:
        for text in (filled.uuid, "run-7", "0", "-1", "1.5", "", "x" * 5000):
            assert "is not an ID" in filled.run(*command.split(), text, expect=2), (command, text)


@test
def ambiguous_ids_name_what_they_may_be(filled):
    message = filled.run("show", "eeeeeeee", expect=5)
    assert message.count("eeeeeeee-0000-4000-8000-") == 2, message
    filled.run("show", "eeeeeeee-0000-4000-8000-000000000001")


@test
def commands_of_determined_name_what_to_use(filled):
    for words, use in (("experiment create a.yaml .", "det run a.yaml"), ("e list", "det experiments"),
                       ("e describe 7", "det show -e 7"), ("-m http://h:1 e lt 7", "det trials 7"),
                       ("e label add 7 a", "det tag ID TAG"), ("experiment set name 7 a", "det rename ID NAME"),
                       ("e pause", "det pause -e ID"), ("trial describe 7", "det show 7"),
                       ("t logs -f 7", "det logs ID"), ("checkpoint download u", "det checkpoints get u"),
                       ("tensorboard start 7", "det tensorboard EXPERIMENT"), ("user login a", "det login")):
        message = filled.run(*words.split(), expect=2)
        assert "is a command of Determined" in message and f"use '{use}'" in message, (words, message)
    for words in ("notebook start", "slot list", "e set weight 7 2", "e", "tensorboard list", "u list"):
        assert "detcore has none" in filled.run(*words.split(), expect=2), words


@test
def killing_a_trial_runs_no_program(filled):
    with subprocess.Popen(["sleep", "1000"]) as process:
        message = filled.run("trial", "kill", str(process.pid), expect=2)
        assert f"use 'det kill {process.pid}'" in message and "'det trial -- kill'" in message, message
        assert process.poll() is None
        process.kill()


@test
def every_terminal_is_good_enough(filled):
    for command in filled.commands():
        for env in ({"COLUMNS": "20"}, {"COLUMNS": "1"}, {"COLUMNS": "100000"}, {"TERM": "dumb"},
                    {"TERM": "no-such-terminal", "LC_ALL": "C"}, {"LC_ALL": "no_SUCH.locale"}):
            assert filled.on_terminal(*command, **env) != "", (command, env)


@test
def what_is_no_terminal_gets_no_escapes_and_no_pager(filled):
    for command in filled.commands():
        text = filled.run(*command, env={"PAGER": "sed s/^/paged/"})
        assert "paged" not in text and not re.search(r"\x1b\[", text.replace("\x1b[31malert", "")), command


@test
def a_locale_without_utf8_gets_ascii(filled):
    for command in filled.commands():
        if command[0] not in ("config", "export"):
            assert filled.run(*command, env={"LC_ALL": "C"}).isascii(), command


@test
def output_that_nobody_reads_is_no_error(filled):
    for command in filled.commands():
        words = " ".join(f"'{word}'" for word in command)
        done = subprocess.run(["bash", "-c", f"set -o pipefail; '{DET}' {words} | head -c 1"],
                              env=filled.env, capture_output=True)
        assert done.returncode == 0 and done.stderr == b"" and len(done.stdout) == 1, (command, done)


@test
def closed_output_is_an_error(filled):
    for command in filled.commands():
        words = " ".join(f"'{word}'" for word in command)
        done = subprocess.run(["bash", "-c", f"'{DET}' {words} <&- >&-"], env=filled.env,
                              stderr=subprocess.PIPE)
        assert done.returncode == 6 and b"standard output" in done.stderr, (command, done)
        assert subprocess.run(["bash", "-c", f"'{DET}' {words} <&- >&- 2>&-"],
                              env=filled.env).returncode == 6
    filled.run("ls")


@test
def a_closed_output_is_not_taken_for_a_file(filled):
    path = os.path.join(filled.home, "metrics.csv")
    subprocess.run(["bash", "-c", f"'{DET}' export 1 '{path}' <&- >&- 2>&-"], env=filled.env)
    with open(path) as file:
        assert file.read() == filled.run("export", "1")


main({"filled": Filled()})
