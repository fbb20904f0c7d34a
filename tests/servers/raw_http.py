"""HTTP/1.1 messages as the bytes that they are, for proxies that pass them on or spoil them."""


class Ended(Exception):
    """The other side has closed its connection."""


class Message:
    """A request or an answer. `file` is of a socket's makefile("rb")."""

    def __init__(self, file):
        self.head = b""
        while not self.head.endswith(b"\r\n\r\n"):
            line = file.readline(1 << 16)
            if not line:
                raise Ended
            self.head += line
        lines = self.head.decode("latin-1").split("\r\n")
        self.words = lines[0].split(" ", 2)
        self.headers = {}
        for line in lines[1:-2]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.body = b""

    def read_body(self, file):
        """That of a request, or of an answer which has one; as it was sent, with its chunks' sizes."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            self.body = b"".join(_chunks(file))
        elif "content-length" in self.headers:
            self.body = _exactly(file, int(self.headers["content-length"]))
        elif self.words[0].startswith("HTTP/"):
            self.body = file.read()

    @property
    def data(self):
        return self.head + self.body


def _exactly(file, size):
    data = file.read(size)
    if len(data) < size:
        raise Ended
    return data


def _chunks(file):
    size = None
    while size != 0:
        line = file.readline()
        if not line.endswith(b"\n"):
            raise Ended
        size = int(line.split(b";")[0], 16)
        yield line
        yield _exactly(file, size + 2 if size else 0)
    while line not in (b"\r\n", b""):  # what follows the last chunk, and the empty line
        line = file.readline()
        yield line
