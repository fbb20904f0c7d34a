#!/usr/bin/env python3
"""How `det` gets on with shells: help, pipes, full disks, completion."""
import json
import os
import pty
import re
import shutil
import subprocess

from harness import DET, MAKE_STORE, Store, ageless, main, test


def complete(store, *words):
    """Candidates without their descriptions."""
    return [line.split("\t")[0] for line in store.run("__complete", "--", *words).splitlines()]


@test
def version_is_that_of_the_library(filled):
    version = json.loads(filled.run("version", "--json"))["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert filled.run("version") == filled.run("--version") == f"det {version}\n"


def all_commands(store, *above):
    """The words of each command, and of each command within one, as the help lists them."""
    listed = re.search(r"\n\n(.*)\n\nOptions:", store.run(*above, "--help"), re.DOTALL)[1]
    sections = [part for part in listed.split("\n\n") if not part.startswith(("Usage", "Arguments"))]
    for section in sections:
        for name in re.findall(r"^  ([a-z]+)  +\S", section, re.MULTILINE):
            yield (*above, name)
            yield from all_commands(store, *above, name)


@test
def help_groups_the_commands(filled):
    text = filled.run("--help")
    assert filled.run() == text
    titles = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    assert titles == ["Start here", "Run and follow", "Look at results", "Checkpoints",
                      "Steer trials and experiments", "Log in to a master", "Tools", "Options",
                      "Example"], titles
    first = re.findall(r"^  ([a-z]+)", text.split("Start here:")[1].split("\n\n")[0], re.MULTILINE)
    assert first == ["run", "trial", "ls", "show", "plot", "logs", "best", "resume"], first
    names = [words[0] for words in all_commands(filled) if len(words) == 1]
    assert len(names) == len(set(names)) and set(names) == set(complete(filled, "")), names
    assert text.count("\n") < 80, "more than two screenfuls"


@test
def every_help_has_an_example_and_fits(filled):
    for words in [(), *all_commands(filled)]:
        text = filled.run(*words, "--help")
        assert f"\nUsage: {' '.join(('det', *words))} [OPTIONS]" in text, words
        assert len(re.findall(r"^Examples?:$", text, re.MULTILINE)) == 1, words
        examples = re.split(r"^Examples?:\n", text, flags=re.MULTILINE)[1].split("\n\n")[0]
        assert 1 <= examples.count("\n  ") + 1 <= 2 and "det " in examples, (words, examples)
        leak = re.search(r"(?m)\(1x\)|\bINT\b| in \[|^ +-.*[{}]|:\{", text)
        assert not leak, (words, leak)
        assert max(map(len, text.splitlines())) <= 80, (words, max(text.splitlines(), key=len))


@test
def help_is_a_command_too(filled):
    assert filled.run("help") == filled.run("--help")
    for command in (["plot"], ["config", "check"]):
        assert filled.run("help", *command) == filled.run(*command, "--help")
    assert "did you mean 'metrics'?" in filled.run("help", "metrisc", expect=2)
    for variable in ("DET_MASTER", "DET_HOME", "NO_COLOR"):
        assert f"  {variable} " in filled.run("help", "environment")
    codes = filled.run("help", "exit-codes")
    assert re.findall(r"^  (\d+)  ", codes, re.MULTILINE) == [str(code) for code in range(9)], codes
    assert complete(filled, "help", "e") == ["experiments", "export", "environment", "exit-codes"]


@test
def misspelt_words_get_a_suggestion(filled):
    for words, meant in ((["metrisc", "1"], "metrics"), (["--csv", "metrisc", "1"], "metrics"),
                         (["ls", "--jsno"], "--json"),
                         (["--jsno", "ls"], "--json"), (["config", "chekc", "x"], "check"),
                         (["plot", "1", "--asci"], "--ascii"), (["ls", "--mater", "x"], "--master")):
        assert f"did you mean '{meant}'? 'det" in filled.run(*words, expect=2), words
    assert "did you mean" not in filled.run("frobnicate", expect=2)
    assert "unknown option '--frob'; 'det ls --help'" in filled.run("ls", "--frob", expect=2)
    assert "unexpected argument '2'" in filled.run("ls", "1", "2", expect=2)


@test
def options_stand_before_the_command_or_behind_it(filled):
    for before, behind in ((["--json", "ls"], ["ls", "--json"]),
                           (["-e", "show", "1"], ["show", "-e", "1"]),
                           (["-m", filled.home, "--csv", "metrics", "1"], ["metrics", "1", "--csv"]),
                           (["-rn", "1", "-s", "id", "trials", "1"],
                            ["trials", "1", "-s", "id", "-r", "-n", "1"]),
                           (["--level=error", "logs", "1"], ["logs", "1", "--level=error"]),
                           (["--help", "plot"], ["plot", "--help"])):
        assert ageless(filled.run(*before)) == ageless(filled.run(*behind)), before
    # What an option takes may be called as a command is.
    assert "trials" in filled.run("--level", "trials", "logs", "1", expect=2)


@test
def a_closed_pipe_is_quiet(filled):
    for command in ("ls", "metrics 2", "metrics 2 --json", "--help"):
        for setup in ("", "trap '' PIPE; "):  # killed by the signal, or told by the write
            done = subprocess.run(["bash", "-c", f"{setup}{DET} {command} | head -c1"],
                                  env=filled.env, capture_output=True)
            assert len(done.stdout) == 1 and done.stderr == b"", done


@test
def a_full_disk_is_an_error(filled):
    with open("/dev/full", "w") as full:
        done = subprocess.run([DET, "ls"], env=filled.env, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 6 and b"No space left" in done.stderr, done


@test
def completion_knows_commands_and_options(filled):
    assert complete(filled, "p") == ["plot", "pause"]
    assert "__complete" not in complete(filled, "")
    assert complete(filled, "metrics", "1", "--cs") == ["--csv"]
    assert complete(filled, "pause", "--m") == ["--master"]
    assert complete(filled, "checkpoint", "") == ["save", "restore"]
    assert complete(filled, "run", "--slots", "") == []
    assert complete(filled, "run", "--rules", "") == ["0.33", "0.38"]
    assert complete(filled, "report", "") == complete(filled, "report", "--step", "") == []
    assert complete(filled, "trial", "--preempt-on", "U") == ["USR1", "USR2"]
    assert complete(filled, "completion", "") == ["bash", "zsh", "fish"]
    assert complete(filled, "logs", "1", "--level", "w") == ["warning"]
    assert complete(filled, "--level", "warning", "logs", "--f") == ["--follow"]
    assert complete(filled, "help", "p") == ["plot", "pause"]
    assert complete(filled, "help", "config", "") == ["check", "show"]


@test
def completion_knows_what_is_in_the_store(filled):
    assert complete(filled, "show", "") [:2] == ["2", "1"]
    assert complete(filled, "pause", "") == complete(filled, "pause", "-e", "") == ["2", "1"]
    assert complete(filled, "plot", "1", "l") == ["loss"]
    assert complete(filled, "plot", "1", "loss", "a") == ["accuracy"]
    assert complete(filled, "metrics", "1", "--group", "v") == ["validation"]
    uuid = filled.lines("checkpoints")[0]["uuid"]
    assert uuid in complete(filled, "show", uuid[:4])
    assert complete(filled, "-m", filled.home, "show", "2") [:1] == ["2"]


@test
def completion_offers_checkpoints_where_they_are_wanted(filled):
    uuids = [entry["uuid"] for entry in filled.lines("checkpoints")]
    assert uuids
    for command in ("get", "rm", "verify", "cp"):
        assert complete(filled, "checkpoints", command, "") == uuids, command
    assert complete(filled, "checkpoints", "verify", uuids[0], "") == uuids
    assert complete(filled, "checkpoints", "cp", uuids[0], "") == [":files"]
    assert complete(filled, "checkpoints", "get", uuids[0], "") == [":files"]


@test
def a_value_out_of_range_is_named_and_not_what_follows(filled):
    path = os.path.join(filled.home, "plot file.svg")
    said = filled.run("run", "--slots", "0", path, "--", "./train", expect=2)
    assert "--slots" in said and "'--'" not in said and "unexpected" not in said, said
    assert "unexpected argument '2'" in filled.run("ls", "1", "--", "2", expect=2)


@test
def completion_is_quiet_without_a_store(filled):
    for words in (["-m", "/nowhere", "show", ""], ["plot", "77", ""], ["plot", "x", ""]):
        assert complete(filled, *words) == []
    assert complete(filled, "-m", "") == complete(filled, "plot", "1", "-o", "") == [":files"]


def bash_completes(store, *words):
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"""{store.run("completion", "bash")}
COMP_WORDS=('{DET}' {quoted}); COMP_CWORD={len(words)}; _det; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", script], env=store.env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.splitlines()


@test
def bash_completes_from_its_script(filled):
    assert bash_completes(filled, "p") == ["plot", "pause"]
    assert bash_completes(filled, "show", "2") [:1] == ["2"]
    assert os.path.join(filled.home, "plot file.svg") in bash_completes(
        filled, "plot", "1", "-o", os.path.join(filled.home, "plot"))


@test
def scripts_are_good_in_every_shell_there_is(filled):
    for shell in ("bash", "zsh", "fish"):
        script = filled.run("completion", shell)
        assert "__complete" in script
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=script, text=True, check=True)


@test
def fish_completes_from_its_script(filled):
    if not shutil.which("fish"):
        return
    path = f"{os.path.dirname(DET)}:{filled.env['PATH']}"
    script = filled.run("completion", "fish") + "\ncomplete -C 'det logs 1 --level w'"
    done = subprocess.run(["fish", "-c", script], env={**filled.env, "PATH": path}, text=True,
                          capture_output=True)
    assert done.stdout.strip() == "warning", done


def on_terminal(store, kind):
    """What a program says on standard error, where that is a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen([MAKE_STORE, kind], env=store.env, stdout=subprocess.PIPE,
                               stderr=child)
    os.close(child)
    out = b""
    try:
        while block := os.read(parent, 65536):
            out += block
    except OSError:
        pass  # how a terminal ends
    os.close(parent)
    process.communicate()
    return out.decode().splitlines(), process.returncode


@test
def a_program_says_on_a_terminal_what_it_is(store):
    lines, code = on_terminal(store, "complete")
    assert code == 0 and len(lines) == 2, lines
    assert lines[0] == (f"detcore: trial 1, in {store.home}; `det show 1` and `det plot 1` show its "
                        "progress"), lines
    assert lines[1] == "detcore: trial 1 ended well; `det show 1` shows the result", lines
    quiet = subprocess.run([MAKE_STORE, "complete"], env=store.env, capture_output=True, text=True)
    assert quiet.stderr == "", quiet


@test
def a_program_that_was_stopped_says_how_it_continues(store):
    parent, child = pty.openpty()
    process = subprocess.Popen([MAKE_STORE, "wait"], env=store.env, stdout=subprocess.PIPE,
                               stderr=child, text=True)
    os.close(child)
    assert process.stdout.readline() == "1\n"
    store.run("pause", "1")
    assert process.wait() == 0
    lines = os.read(parent, 65536).decode().splitlines()
    os.close(parent)
    assert lines[-1] == ("detcore: trial 1 stopped as it was asked to; `det resume 1` continues it"), lines


filled = Store("complete", "many")
open(os.path.join(filled.home, "plot file.svg"), "w").close()
main({"filled": filled})
