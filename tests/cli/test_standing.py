#!/usr/bin/env python3
"""What works on a trial, what has died, and how to wait for it and start it again."""
import fcntl
import itertools
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import time

import harness
from harness import PATIENCE, main, test

DET = os.path.abspath(harness.DET)


def trial(store, script, *options):
    """A script that is a trial; returns once it prints something."""
    store.env["PATH"] = os.path.dirname(DET) + ":" + os.environ["PATH"]
    process = subprocess.Popen([DET, "trial", *options, "--", "sh", "-c", script], env=store.env,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               cwd=store.home)
    store.processes.append(process)
    return process, process.stdout.readline().strip()


def die(store):
    process, _ = trial(store, "pwd; det report loss=1 --step 1; [ ! -e once ] || exit 0; touch once; sleep 60")
    end = time.monotonic() + PATIENCE
    while not os.path.exists(os.path.join(store.home, "once")):
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    process.communicate()


@test
def one_that_died_does_not_look_as_if_it_ran(store):
    die(store)
    assert "State             DIED" in store.run("show", "1")
    assert json.loads(store.run("show", "1", "--json"))["state"] == "ACTIVE"
    process, same = store.start("wait")
    assert same == "2" and "State             ACTIVE" in store.run("show", "2")
    store.run("kill", "2")
    process.communicate()


@test
def resume_starts_the_same_command_in_the_same_place(store):
    die(store)
    out = store.run("resume", "1", env={"DET_HOME": store.home, "DET_MASTER": store.home}).splitlines()
    assert out[0].startswith(f"cd {store.home} && DET_TRIAL_ID=1 "), out
    assert out[1] == os.path.realpath(store.home), out
    assert [run["state"] for run in json.loads(store.run("show", "1", "--json"))["runs"]] == ["died", "ended"]
    assert "has ended" in store.run("resume", "1", expect=5)
    assert len(store.lines("ls")) == 1


@test
def resume_refuses_what_runs_and_what_is_not_there(store):
    process, id = store.start("wait")
    assert "is running" in store.run("resume", id, expect=5)
    store.run("pause", id)
    process.communicate()
    out = store.run("pause", id)
    resumed = subprocess.Popen([DET, "resume", id], env=store.env, stdout=subprocess.PIPE, text=True)
    store.processes.append(resumed)
    assert resumed.stdout.readline().strip() in out
    assert resumed.stdout.readline().strip() == id
    store.run("cancel", id)
    assert resumed.wait(timeout=PATIENCE) == 0
    store.run("resume", id, expect=5)
    store.run("resume", "7", expect=3)
    store.run("resume", "-e", "7", expect=3)


@test
def wait_tells_how_it_ended(store):
    processes = [store.start("wait") for _ in range(3)]
    assert "1 of 1 have not ended" in store.run("wait", "1", "--timeout", "0.1s", expect=4)
    store.run("pause", "1")
    store.run("cancel", "2")
    store.run("kill", "3")
    for process, _ in processes:
        process.communicate()
    assert store.run_loudly("wait", "1", expect=11) == "Trial 1 is PAUSED.\n"
    assert store.run_loudly("wait", "1", "2", "3", expect=10).count("CANCELED") == 2
    store.run_loudly("wait", "-e", "1", expect=11)
    store.make("complete")
    assert store.run("wait", "4") == "Trial 4 is COMPLETED.\n"
    assert json.loads(store.run("wait", "-e", "4", "--json")) == {"id": 4, "state": "COMPLETED"}
    store.run("wait", "4", "7", expect=3)
    store.run("wait", "4", "--timeout", "soon", expect=2)


@test
def wait_ends_when_a_trial_does(store):
    process, id = store.start("wait")
    waiting = subprocess.Popen([DET, "wait", "-e", "1"], env=store.env, stdout=subprocess.PIPE, text=True)
    store.processes.append(waiting)
    store.run("cancel", id)
    process.communicate()
    assert waiting.communicate(timeout=PATIENCE)[0] == "Experiment 1 is CANCELED.\n" and waiting.returncode == 10


@test
def wait_and_logs_do_not_wait_for_the_dead(store):
    die(store)
    assert store.run_loudly("wait", "1", expect=9) == "Trial 1 died.\n"
    assert store.run_loudly("wait", "-e", "1", expect=9) == "Experiment 1 died.\n"
    store.run("logs", "1", "-f")


@test
def logs_can_be_limited(store):
    script = "det report a=$DET_STEPS_COMPLETED --step 1; echo one; echo two; echo three >&2"
    for _ in range(2):
        process, _ = trial(store, script, "--external-id", "same")
        process.communicate()
    texts = lambda *options: [line["text"] for line in store.lines("logs", "1", *options)]
    assert sorted(texts()) == ["one", "one", "three", "three", "two", "two"]
    assert sorted(texts("--run", "2")) == ["one", "three", "two"]
    assert len(texts("--tail", "2")) == 2 and texts("--tail", "2") == texts()[-2:]
    assert texts("--run", "1", "--tail", "1", "-f") == texts("--run", "1")[-1:]
    assert len(texts("--tail", "99")) == len(texts("--rank", "0")) == 6 and texts("--rank", "1") == []
    assert len(texts("--since", "1h")) == len(texts("--since", "2020-01-31 12:00")) == 6
    assert texts("--since", "2999-01-31T12:00:00Z") == texts("--since", "2999-01-31") == []
    assert "no run 3" in store.run("logs", "same", "--run", "3", expect=3)
    assert store.run("wait", "same") == "Trial 1 is COMPLETED.\n"
    assert "has ended" in store.run("resume", "same", expect=5)
    for wrong in (["--since", "tomorrow"], ["--tail", "0"], ["--rank", "-1"], ["--run", "x"], ["--since", "3w"]):
        store.run("logs", "1", *wrong, expect=2)


@test
def a_list_that_is_watched_is_printed_again(store):
    store.make("complete")
    process = subprocess.Popen([DET, "ls", "-w"], env=store.env, stdout=subprocess.PIPE, text=True)
    store.processes.append(process)
    lines = [process.stdout.readline() for _ in range(5)]
    assert lines[0] == lines[3] and lines[0].startswith("TRIAL") and lines[2] == "\n", lines
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    store.run("ls", "-w", "--json", expect=2)
    done = subprocess.run(["sh", "-c", f"{DET} ls -w | head -1"], env=store.env, capture_output=True, timeout=PATIENCE)
    assert done.stdout.startswith(b"TRIAL") and done.stderr == b"", done


def drawn_on(terminal):
    """Each time that a list is drawn, whole; a terminal is read in pieces."""
    text = b""
    while True:
        text += os.read(terminal, 65536)
        *whole, text = text.split(b"\x1b[?7h")
        yield from whole


@test
def a_watched_list_fits_a_terminal_that_changes(store):
    store.make("complete")
    parent, child = pty.openpty()
    process = subprocess.Popen([DET, "ls", "-w"], env=store.env, stdout=child, stderr=child)
    store.processes.append(process)
    os.close(child)
    drawings = drawn_on(parent)
    first = next(drawings)
    assert first.startswith(b"\x1b[?1049h") and b"COMPLETED" in first, first
    fcntl.ioctl(parent, termios.TIOCSWINSZ, struct.pack("HHHH", 1, 20, 0, 0))
    process.send_signal(signal.SIGWINCH)  # the terminal is not the controlling one
    # It is also drawn every two seconds, and may have been just before.
    again = next(drawing for drawing in itertools.islice(drawings, 3) if b"COMPLETED" not in drawing)
    assert b"\x1b[H" in again and b"\n" not in again, again
    process.send_signal(signal.SIGINT)
    last = b""
    try:
        while block := os.read(parent, 65536):
            last += block
    except OSError:
        pass  # how a terminal ends
    os.close(parent)
    assert process.wait() == 0 and b"\x1b[?1049l" in last, last
    plain = store.env | {"TERM": "dumb"}
    process = subprocess.Popen([DET, "ls", "-w"], env=plain, stdout=subprocess.PIPE)
    store.processes.append(process)
    assert process.stdout.readline().startswith(b"TRIAL")


@test
def any_terminal_will_do(store):
    store.make("complete")
    for command in (["ls"], ["show", "1"], ["wait", "1"], ["logs", "1", "--tail", "2"]):
        assert "\x1b" not in store.on_terminal(*command, TERM="dumb"), command
        assert store.on_terminal(*command, LC_ALL="C").isascii(), command
        assert store.on_terminal(*command, COLUMNS="20"), command
        done = subprocess.run(["bash", "-c", f"{DET} {' '.join(command)} | head -c1"], env=store.env,
                              capture_output=True)
        assert len(done.stdout) == 1 and done.stderr == b"", done


main({})
