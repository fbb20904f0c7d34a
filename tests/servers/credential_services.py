"""The services that give AWS credentials, as far as their clients can tell: the metadata service of an instance
(below /v1, one that knows no tokens; below /none, one without a role), the endpoint of a container, STS and SSO."""

import datetime
import json
import urllib.parse

from . import serving

STS = """<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><Credentials>
<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>secret-of-role</SecretAccessKey>
<SessionToken>token-of-role</SessionToken><Expiration>{ends}</Expiration>
</Credentials></{action}Result></{action}Response>"""
REFUSED = """<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>
<Message>not authorized to perform sts:AssumeRole</Message></Error></ErrorResponse>"""


def end(hours=1):
    now = datetime.datetime.now(datetime.timezone.utc)
    return (now + datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def keys(name, hours=1):
    return json.dumps({"Code": "Success", "AccessKeyId": name, "SecretAccessKey": "secret-of-" + name,
                       "Token": "token-of-" + name, "Expiration": end(hours)}).encode()


class Handler(serving.Handler):
    def respond(self, body):
        url = urllib.parse.urlsplit(self.path)
        if "/latest/" in url.path:
            self.instance(url.path)
        elif url.path.startswith("/container"):
            self.container(url.path)
        elif url.path == "/federation/credentials":
            self.sso(dict(urllib.parse.parse_qsl(url.query)))
        else:
            self.sts(dict(urllib.parse.parse_qsl(body.decode())))

    def instance(self, path):
        kind, _, path = path.partition("/latest/")
        roles = "meta-data/iam/security-credentials/"
        if path == "api/token":
            wanted = self.command == "PUT" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
            self.answer(*((404,) if kind == "/v1" else (200, b"token-2") if wanted else (400,)))
        elif kind != "/v1" and self.headers["X-aws-ec2-metadata-token"] != "token-2":
            self.answer(401)
        elif kind == "/none":
            self.answer(404)
        elif path == roles:
            self.answer(200, b"role-name\n")
        elif path == roles + "role-name":
            self.answer(200, keys("instance"))
        else:
            self.answer(404)

    def container(self, path):
        if path == "/container/ended":
            self.answer(200, keys("container", hours=-1))
        elif path == "/container/broken":
            self.answer(200, b'{"AccessKeyId": "container", "SecretAccessKey": "secret')
        elif self.headers["Authorization"] == "token of container":
            self.answer(200, keys("container"))
        else:
            self.answer(403)

    def sso(self, query):
        if self.headers["x-amz-sso_bearer_token"] != "token-of-login":
            return self.answer(401)
        assert query == {"account_id": "123456789012", "role_name": "Role"}, query
        self.answer(200, json.dumps({"roleCredentials": {
            "accessKeyId": "sso", "secretAccessKey": "secret-of-sso", "sessionToken": "token-of-sso",
            "expiration": 4102444800000}}).encode())

    def sts(self, form):
        """The key tells for whom, and by whose leave."""
        action = form["Action"]
        by = form.get("WebIdentityToken") or self.headers["Authorization"].split("Credential=")[1].split("/")[0]
        if form["RoleArn"] == "forbidden":
            return self.answer(403, REFUSED.encode())
        key = f"{form['RoleArn']} by {by}"
        self.answer(200, STS.format(action=action, key=key, ends=end()).encode())


if __name__ == "__main__":
    serving.serve(serving.Server(("127.0.0.1", 0), Handler))
