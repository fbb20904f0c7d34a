"""Who the master is, who the caller is, and whether the caller may ask."""

import hashlib

from .message import Message
from .refusal import invalid, unauthenticated
from .routes import V33, V38, route
from .world import now, time_text

PASSWORD_SALT = "GubPEmmotfiK9TMD6Zdw"

HEADERS = [  # in the order in which a master looks; it looks at the first that is there only
    ("user", "Grpc-Metadata-x-user-token"),
    ("bearer", "Authorization"),
    ("allocation", "Grpc-Metadata-x-allocation-token"),
]


def token_headers(headers):
    """[(kind, value)] of all token headers of a request."""
    found = [(kind, headers[name]) for kind, name in HEADERS if name in headers]
    parts = headers.get("Cookie", "").split(";")
    cookies = dict(part.strip().partition("=")[::2] for part in parts)
    if "auth" in cookies and "Authorization" not in headers:
        found.insert(1 if found[:1] and found[0][0] == "user" else 0,
                     ("cookie", "Bearer " + cookies["auth"]))
    return found


def check_token(world, tokens):
    """The name of the user; the owner's for a task's token."""
    if not tokens:
        raise unauthenticated("no token was given")
    kind, value = tokens[0]
    token = value.removeprefix("Bearer ")
    if value.startswith("Bearer "):
        if kind == "allocation" and token in world.task_tokens:
            return "determined"  # who owns the task
        if kind != "allocation" and token in world.tokens:
            return world.tokens[token]
    raise unauthenticated("the token is not valid")


def user_object(world, name):
    user = {"id": list(world.users).index(name) + 1, "username": name, "admin": name == "admin",
            "active": True, "agentUserGroup": None, "displayName": "",
            "modifiedAt": time_text(now())}
    if world.version >= V33:
        user.update(remote=False, lastAuthAt=time_text(now()))
    return user


def password_hash(password):
    return hashlib.sha512((PASSWORD_SALT + password).encode()).hexdigest() if password else ""


@route("POST", "/api/v1/auth/login", needs_token=False)
def login(world, call):
    message = Message(call.body)
    name, password = message.text("username"), message.text("password")
    if not name:
        raise invalid("the user's name is missing")
    if not message.flag("isHashed"):
        password = password_hash(password)
    if name not in world.users or password != password_hash(world.users[name]):
        raise unauthenticated("no user of that name and password")
    token = next((token for token, user in world.tokens.items() if user == name), None)
    if token is None:
        token = f"user-token-{len(world.tokens) + 1}-{name}"
        world.tokens[token] = name
    call.headers.append(("Set-Cookie", f"auth={token}; Path=/"))
    return {"token": token, "user": user_object(world, name)}


@route("POST", "/api/v1/auth/logout")
def logout(world, call):
    kind, value = call.tokens[0]
    if kind == "allocation":
        raise invalid("a task's token ends with the task")
    del world.tokens[value.removeprefix("Bearer ")]
    return {}


@route("GET", "/api/v1/me")
@route("GET", "/api/v1/auth/user")
def me(world, call):
    return {"user": user_object(world, call.user)}


@route("GET", "/api/v1/master", needs_token=False)
def master(world, call):
    answer = {
        "version": world.version_text, "masterId": world.id, "clusterId": world.cluster_id,
        "clusterName": "test", "telemetryEnabled": False, "ssoProviders": [],
        "externalLoginUri": "", "externalLogoutUri": "", "branding": "determined",
        "rbacEnabled": False, "product": "PRODUCT_UNSPECIFIED", "featureSwitches": [],
    }
    if world.version >= V33:
        answer.update(userManagementEnabled=True, strictJobQueueControl=False)
    if world.version >= V38:
        answer["hasCustomLogo"] = False
    return answer


@route("GET", "/info", needs_token=False)
def info(world, call):
    return {"version": world.version_text, "master_id": world.id, "cluster_id": world.cluster_id,
            "cluster_name": "test",
            "telemetry": {"enabled": False, "otel_enabled": False, "otel_endpoint": ""},
            "sso_providers": None}
