"""Requests to object stores as their owners sign them, so that tests prepare and look at stores without the
code that they test. Standard library only."""

import base64
import datetime
import hashlib
import hmac
import http.client
import ssl
import urllib.parse

from patience import PATIENCE


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _now():
    return datetime.datetime.now(datetime.timezone.utc)


def send(method, url, body=b"", headers=(), certificates=None):
    """(status, headers, body)"""
    url = urllib.parse.urlsplit(url)
    if url.scheme == "https":
        context = ssl.create_default_context(cafile=certificates)
        connection = http.client.HTTPSConnection(url.netloc, timeout=PATIENCE, context=context)
    else:
        connection = http.client.HTTPConnection(url.netloc, timeout=PATIENCE)
    target = url.path + ("?" + url.query if url.query else "")
    connection.request(method, target, body, dict(headers))
    answer = connection.getresponse()
    result = answer.status, answer.headers, answer.read()
    connection.close()
    return result


def sign_s3(method, url, body, headers, access_key, secret_key, service="s3", region="us-east-1"):
    """Signature version 4: the headers to send."""
    parts = urllib.parse.urlsplit(url)
    time = _now().strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {**headers, "host": parts.netloc, "x-amz-date": time, "x-amz-content-sha256": digest}
    ordered = sorted((name.lower(), value.strip()) for name, value in headers.items())
    names = ";".join(name for name, _ in ordered)
    query = sorted(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    canonical = "\n".join([
        method, parts.path or "/", urllib.parse.urlencode(query, quote_via=urllib.parse.quote, safe="-_.~"),
        *(f"{name}:{value}" for name, value in ordered), "", names, digest])
    scope = f"{time[:8]}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = ("AWS4" + secret_key).encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, "
                                f"Signature={_hmac(key, text).hex()}")
    return headers


def sign_azure(method, url, body, headers, account, key):
    """Shared key: the headers to send."""
    parts = urllib.parse.urlsplit(url)
    headers = {"x-ms-version": "2021-12-02", "x-ms-date": _now().strftime("%a, %d %b %Y %H:%M:%S GMT"), **headers}
    lower = {name.lower(): value for name, value in headers.items()}
    plain = ["content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
             "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"]
    lower["content-length"] = str(len(body)) if body else ""
    query = sorted(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    text = "\n".join([
        method, *(lower.get(name, "") for name in plain),
        *(f"{name}:{lower[name]}" for name in sorted(lower) if name.startswith("x-ms-")),
        f"/{account}{parts.path}" + "".join(f"\n{name.lower()}:{value}" for name, value in query)])
    signature = base64.b64encode(_hmac(base64.b64decode(key), text)).decode()
    return {**headers, "Authorization": f"SharedKey {account}:{signature}"}
