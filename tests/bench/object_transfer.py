#!/usr/bin/env python3
"""One transfer by one client, in a process of its own so that its memory and processor time can be told:

  object_transfer.py CLIENT up|down FOLDER PREFIX

CLIENT is detcore, boto3 or awscrt; the store is in the environment as tests/servers gives it. detcore prints the id
of the checkpoint that it made, which is the PREFIX to fetch it by.
"""

import os
import pathlib
import sys
import urllib.parse

ENDPOINT, BUCKET, ACCESS_KEY, SECRET_KEY = (
    os.environ["DET_TEST_S3_" + name] for name in ("ENDPOINT", "BUCKET", "ACCESS_KEY", "SECRET_KEY"))
REGION = "us-east-1"


def detcore(direction, folder, prefix):
    from detcore.storage import Storage

    storage = Storage({"type": "s3", "bucket": BUCKET, "endpoint_url": ENDPOINT, "access_key": ACCESS_KEY,
                       "secret_key": SECRET_KEY, "prefix": "detcore"})
    if direction == "up":
        print(storage.upload(folder))
    else:
        storage.download(prefix, folder)


def boto3(direction, folder, prefix):
    """As upstream's storage uses it: one file after the other, large ones in parts beside each other."""
    import boto3

    bucket = boto3.resource("s3", endpoint_url=ENDPOINT, aws_access_key_id=ACCESS_KEY,
                            aws_secret_access_key=SECRET_KEY, region_name=REGION).Bucket(BUCKET)
    if direction == "up":
        for path in files_of(folder):
            bucket.upload_file(str(path), f"{prefix}/{path.relative_to(folder)}")
        return
    for found in bucket.objects.filter(Prefix=prefix + "/"):
        target = folder / found.key[len(prefix) + 1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        bucket.download_file(found.key, str(target))


def awscrt(direction, folder, prefix):
    from awscrt import auth, http, io, s3

    events = io.EventLoopGroup()
    bootstrap = io.ClientBootstrap(events, io.DefaultHostResolver(events))
    credentials = auth.AwsCredentialsProvider.new_static(ACCESS_KEY, SECRET_KEY)
    client = s3.S3Client(
        bootstrap=bootstrap, region=REGION, tls_mode=s3.S3RequestTlsMode.DISABLED,
        signing_config=s3.create_default_s3_signing_config(region=REGION, credential_provider=credentials))
    host = urllib.parse.urlsplit(ENDPOINT).netloc

    def begin(name, size):
        path, key = folder / name, urllib.parse.quote(f"/{BUCKET}/{prefix}/{name}")
        headers = http.HttpHeaders([("host", host)])
        if direction == "up":
            headers.add("content-length", str(size))
            return client.make_request(
                type=s3.S3RequestType.PUT_OBJECT, send_filepath=str(path), request=http.HttpRequest("PUT", key, headers))
        path.parent.mkdir(parents=True, exist_ok=True)
        return client.make_request(
            type=s3.S3RequestType.GET_OBJECT, recv_filepath=str(path), request=http.HttpRequest("GET", key, headers))

    # It has no listing: the names are known, as those of a manifest would be.
    names = [(line.split(" ", 1)[1], int(line.split(" ", 1)[0]))
             for line in pathlib.Path(os.environ["OBJECT_NAMES"]).read_text().splitlines()]
    under_way = []
    for name, size in names:
        under_way.append(begin(name, size))
        if len(under_way) == 256:
            under_way.pop(0).finished_future.result()
    for request in under_way:
        request.finished_future.result()


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    client, direction, folder, prefix = sys.argv[1:]
    {"detcore": detcore, "boto3": boto3, "awscrt": awscrt}[client](direction, pathlib.Path(folder), prefix)
