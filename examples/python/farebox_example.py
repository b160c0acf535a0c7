"""One image by Farebox (price, submit, wait, download), or one chat with a streamed reply."""

import argparse
import json
import os
import sys
import uuid

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

BASE_URL = os.environ.get("FAREBOX_BASE_URL", "http://localhost:8080/v1")
TIMEOUT_SECONDS = 90  # longer than the 60 seconds for which a status call waits


class Refused(Exception):
    """An error reply of the service. Programs should use `code`; the message is for people."""

    def __init__(self, reply):
        try:
            error = reply.json()["error"]
        except (ValueError, KeyError, TypeError):
            error = {"code": str(reply.status_code), "message": reply.text[:200]}
        self.code = error["code"]
        self.details = error.get("details", {})
        super().__init__(f"{self.code}: {error['message']}")


def connect():
    """A session that retries temporary failures after the time in Retry-After.

    Retrying a POST is safe here: each has an Idempotency-Key or changes nothing.
    """
    session = requests.Session()
    session.headers["Authorization"] = f"Key {os.environ['FAREBOX_API_KEY']}"
    retry = Retry(
        total=4,
        backoff_factor=1,
        status_forcelist=[429, 502, 503],
        allowed_methods=["GET", "POST"],
        raise_on_status=False,
    )
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry))
    return session


def call(session, method, path, **options):
    reply = session.request(method, f"{BASE_URL}{path}", timeout=TIMEOUT_SECONDS, **options)
    if not reply.ok:
        raise Refused(reply)
    return reply


def picture(session, args):
    # Without a resolution the price of the most expensive one is reserved.
    given = {"prompt": args.prompt, "resolution": "1k"}
    estimate = {"model_id": args.model, "input": given}
    price = int(call(session, "POST", "/estimate", json=estimate).json()["price_usd_micro"])
    print(f"price: ${price / 1_000_000:f}")
    if price > args.max_usd_micro:
        sys.exit(f"The price is above {args.max_usd_micro} millionths of a dollar. Nothing was submitted.")

    job = {"Idempotency-Key": args.idempotency_key or str(uuid.uuid4())}
    queued = call(session, "POST", f"/queue/{args.model}", json=given, headers=job).json()
    request = f"/requests/{queued['request_id']}"
    print(f"request: {queued['request_id']}")

    status = "IN_QUEUE"
    while status in ("IN_QUEUE", "IN_PROGRESS"):
        told = call(session, "GET", f"{request}/status", params={"wait": 60, "until": "final"}).json()
        status = told["status"]
        print(f"status: {status}")
    if status != "COMPLETED":
        sys.exit(f"The request is {status}: {told.get('error', {}).get('message', '')}")

    output = call(session, "GET", f"{request}/response").json()
    download(output["images"][0]["url"], args.file)
    charged = int(call(session, "GET", request).json()["charged_usd_micro"])
    print(f"charged: ${charged / 1_000_000:f}")
    print(f"written: {args.file}")


def download(url, file):
    """Writes the file completely or not at all. The link is signed and needs no key."""
    part = f"{file}.part"
    try:
        with requests.get(url, stream=True, timeout=TIMEOUT_SECONDS) as reply:
            if not reply.ok:
                raise Refused(reply)
            with open(part, "wb") as target:
                for chunk in reply.iter_content(64 * 1024):
                    target.write(chunk)
        os.replace(part, file)
    finally:
        if os.path.exists(part):
            os.remove(part)


def chat(session, args):
    body = {
        "model": args.model,
        "messages": [{"role": "user", "content": args.prompt}],
        "max_tokens": args.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    job = {"Idempotency-Key": args.idempotency_key or str(uuid.uuid4())}
    with call(session, "POST", "/chat/completions", json=body, headers=job, stream=True) as reply:
        for line in reply.iter_lines():
            if not line.startswith(b"data: ") or line == b"data: [DONE]":
                continue
            chunk = json.loads(line[len(b"data: ") :])
            if "error" in chunk:
                sys.exit(f"\nThe reply broke off: {chunk['error']['message']}")
            for choice in chunk["choices"]:
                print(choice["delta"].get("content") or "", end="", flush=True)
            if chunk.get("usage"):
                cost = int(chunk["usage"]["cost_usd_micro"])
                print(f"\ncharged: ${cost / 1_000_000:f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    drawing = commands.add_parser("picture", help="make an image from a prompt")
    drawing.add_argument("prompt")
    drawing.add_argument("file")
    drawing.add_argument("--model", default="sandbox/canvas/text-to-image")
    drawing.add_argument("--max-usd-micro", type=int, default=1_000_000, help="the most that the job may cost")
    drawing.set_defaults(run=picture)
    talking = commands.add_parser("chat", help="print a reply while it is written")
    talking.add_argument("prompt")
    talking.add_argument("--model", default="sandbox/chat")
    talking.add_argument("--max-tokens", type=int, default=500)
    talking.set_defaults(run=chat)
    for command in (drawing, talking):
        command.add_argument("--idempotency-key", help="a name for the job: the same key again finds the same job")
    args = parser.parse_args()
    if "FAREBOX_API_KEY" not in os.environ:
        sys.exit("Set FAREBOX_API_KEY to your key.")
    try:
        args.run(connect(), args)
    except (Refused, requests.RequestException) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
