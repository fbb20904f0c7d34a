#!/usr/bin/env python3
"""Logging in to a master, which tests/servers/login.py plays."""
import json
import os
import pty
import signal
import stat
import subprocess
import sys
import termios
import urllib.request

from harness import DET, PATIENCE, main, test

SERVERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "servers")


class Master:
    """A master of a test's own, and a store object to run `det` with."""

    def __init__(self, store, *tls):
        self.process = subprocess.Popen([sys.executable, SERVERS, "login", *tls], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        store.processes.append(self.process)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.process.stdout.readline().decode().strip()}"
        self.config = os.path.join(store.home, "config")
        store.env.update(DET_MASTER=self.url, XDG_CONFIG_HOME=self.config)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:
            return json.load(answer)

    def cache(self):
        with open(os.path.join(self.config, "determined", "auth.json")) as file:
            return json.load(file)["masters"][self.url]


@test
def login_keeps_the_token_and_logout_ends_it(store):
    master = Master(store)
    assert store.run("login", "-u", "bob", input="hunter2\n") == f"Logged in to {master.url} as bob.\n"
    assert master.cache()["active_user"] == "bob"
    path = os.path.join(master.config, "determined", "auth.json")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert store.run("whoami") == f"bob, an administrator, on {master.url}\n"
    assert len(master.get("/stats")["tokens"]) == 1
    assert store.run("logout") == f"bob is logged out of {master.url}.\n"
    assert master.get("/stats")["tokens"] == {} and master.cache() == {"tokens": {}}
    store.run("logout", expect=3)


@test
def address_is_given_in_any_of_its_forms(store):
    master = Master(store)
    del store.env["DET_MASTER"]
    typed = master.url.replace("http://", "HTTP://") + "/prefix/"
    answer = json.loads(store.run("login", "-u", "bob", typed, "--json", input="hunter2"))
    assert answer == {"master": master.url + "/prefix", "username": "bob", "id": 2, "admin": True}, answer
    short = master.url.removeprefix("http://") + "/prefix"
    assert "bob" in store.run("whoami", "-m", "http://" + short)
    store.run("logout", "-m", "http://" + short + "/")


@test
def store_in_a_directory_has_no_users(store):
    for command in (["login", "-u", "bob"], ["logout"], ["whoami"]):
        assert store.home in store.run(*command, expect=2, input="x\n")


@test
def wrong_password_is_refused_and_not_shown(store):
    master = Master(store)
    for user in ("bob", "nobody", "lazy"):
        message = store.run("login", "-u", user, input="secret\n", expect=6)
        assert user in message and master.url in message and "secret" not in message, message
    assert "standard input" in store.run("login", "-u", "bob", expect=2)
    assert "-u USER" in store.run("login", input="hunter2\n", expect=2)
    assert not os.path.exists(master.config)


@test
def password_of_the_variables_is_that_of_their_user(store):
    master = Master(store)
    store.env.update(DET_USER="Zoë", DET_PASS="pässwort")
    assert "as Zoë" in store.run("login")
    assert "as bob" in store.run("login", "-u", "bob", input="hunter2\n")
    assert master.cache()["active_user"] == "bob"
    assert "Zoë" in store.run("whoami")
    assert "Zoë" in store.run("logout", "-u", "Zoë")
    assert list(master.cache()["tokens"]) == ["bob"]


@test
def password_never_stands_on_the_command_line(store):
    Master(store)
    store.run("login", "-u", "bob", "http://127.0.0.1:1", "hunter2", expect=2)
    store.run("login", "-u", "bob", "--password", "hunter2", expect=2)


@test
def expired_login_says_what_to_do(store):
    master = Master(store)
    store.run("login", "-u", "bob", input="hunter2\n")
    master.get("/expire")
    assert "det login" in store.run("whoami", expect=6)
    store.run("login", "-u", "bob", input="hunter2\n")
    master.get("/expire")
    assert "logged out" in store.run("logout")


@test
def logout_works_without_the_master(store):
    master = Master(store)
    store.run("login", "-u", "bob", input="hunter2\n")
    master.process.stdin.close()
    master.process.wait()
    assert "could not be reached" in store.run("logout")
    assert master.cache() == {"tokens": {}}
    assert master.url in store.run("login", "-u", "bob", input="hunter2\n", expect=8)


def on_terminal(store, *arguments):
    """`det` on a terminal, until it asks for the password: the process and the terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen([DET, *arguments], env=store.env, stdin=child, stdout=child,
                               stderr=child, start_new_session=True)
    store.processes.append(process)
    os.close(child)
    shown = b""
    while not shown.endswith(b": "):
        shown += os.read(parent, 100)
    return process, parent, shown


def rest_of(terminal):
    shown = b""
    try:
        while block := os.read(terminal, 1000):
            shown += block
    except OSError:
        pass  # how a terminal ends
    os.close(terminal)
    return shown.decode()


@test
def password_is_asked_for_without_echo(store):
    Master(store)
    process, terminal, shown = on_terminal(store, "login", "-u", "bob")
    assert shown == b"Password of bob: ", shown
    os.write(terminal, b"hunter2\n")
    shown = rest_of(terminal)
    assert process.wait() == 0 and "Logged in" in shown and "hunter2" not in shown, shown


@test
def user_is_asked_for_on_a_terminal(store):
    Master(store)
    process, terminal, shown = on_terminal(store, "login")
    assert shown == b"User: ", shown
    os.write(terminal, b"bob\n")
    while not shown.endswith(b"Password of bob: "):
        shown += os.read(terminal, 100)
    os.write(terminal, b"hunter2\n")
    assert "as bob" in rest_of(terminal) and process.wait() == 0


@test
def interrupt_gives_the_terminal_back_with_its_echo(store):
    Master(store)
    parent, child = pty.openpty()
    before = termios.tcgetattr(child)
    process = subprocess.Popen([DET, "login", "-u", "bob"], env=store.env, stdin=child, stdout=child,
                               stderr=child)
    store.processes.append(process)
    shown = b""
    while not shown.endswith(b": "):
        shown += os.read(parent, 100)
    assert termios.tcgetattr(child)[3] & termios.ECHO == 0
    process.send_signal(signal.SIGINT)
    assert process.wait() == -signal.SIGINT
    assert termios.tcgetattr(child) == before
    os.close(parent)
    os.close(child)


def make_certificate(directory):
    key, certificate = os.path.join(directory, "key"), os.path.join(directory, "certificate")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "1", "-subj", "/CN=master", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


@test
def certificate_that_is_given_is_trusted_from_then_on(store):
    certificate, key = make_certificate(store.home)
    Master(store, certificate, key)
    login = ("login", "-u", "bob")
    store.run(*login, input="hunter2\n", expect=6)
    store.run(*login, "--cert", certificate, input="wrong\n", expect=6)
    store.run(*login, input="hunter2\n", expect=6)  # a login that failed trusts nobody
    store.run(*login, "--cert", certificate, input="hunter2\n")
    assert "bob" in store.run("whoami")
    assert "no-such-file" in store.run(*login, "--cert", "no-such-file", input="x\n", expect=3)
    assert "PEM" in store.run(*login, "--cert", key, input="x\n", expect=2)


@test
def options_are_completed(store):
    words = store.run("__complete", "--", "login", "--")
    assert "--user\t" in words and "--cert\t" in words and "--master\t" in words, words
    assert "login\t" in store.run("__complete", "--", "log") and "whoami\t" in store.run("__complete", "--", "w")
    assert store.run("__complete", "--", "login", "--cert", "") == ":files\n"
    store.make("complete")
    assert store.run("__complete", "--", "login", "-u", "") == ""


main({})
