"""Answers that are no success, in the error forms of a master."""

REASONS = {
    400: (3, "InvalidArgument"),
    401: (16, "Unauthenticated"),
    403: (7, "PermissionDenied"),
    404: (5, "NotFound"),
    500: (13, "Internal"),
    501: (12, "Unimplemented"),
    502: (14, "Unavailable"),
    503: (14, "Unavailable"),
    504: (4, "DeadlineExceeded"),
}


class Refusal(Exception):
    """`plain` is the form of paths outside of /api/v1."""

    def __init__(self, status, text, plain=False):
        super().__init__(text)
        self.status = status
        self.body = {"message": text} if plain else error_body(status, text)


def error_body(status, text):
    code, reason = REASONS.get(status, (13, "Internal"))
    return {"error": {"code": code, "reason": reason, "error": text}}


def invalid(text):
    return Refusal(400, text)


def unauthenticated(text):
    return Refusal(401, text)


def missing(what, name):
    return Refusal(404, f"there is no {what} '{name}'")


def internal(text):
    """Also for most mistakes of clients: masters answer those with 500."""
    return Refusal(500, text)


def unimplemented():
    return Refusal(501, "no such call")
