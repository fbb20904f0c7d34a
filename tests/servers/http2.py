"""nghttpd, which speaks HTTP/2 alone and echoes what is uploaded: http2 NGHTTPD CERTIFICATE KEY FOLDER.

FOLDER holds what may be fetched.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def die_with_parent():
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(program, certificate, key, folder):
    while True:
        port = free_port()
        command = [program, "-a", "127.0.0.1", "-d", folder, "--echo-upload", str(port), key, certificate]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        server = subprocess.Popen(command, preexec_fn=die_with_parent, **quiet)
        while server.poll() is None:
            if listens(port):
                return server, port
            time.sleep(0.01)
        # Somebody else took the port meanwhile: try another one.


if __name__ == "__main__":
    server, port = start(*sys.argv[1:])
    os.write(1, b"%d\n" % port)
    sys.stdin.buffer.read()
    server.terminate()
    server.wait()
