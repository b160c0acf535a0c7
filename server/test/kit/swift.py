"""
OpenStack Swift with its S3 interface, all its servers in one process.

    python3 swift.py FOLDER REGION

Prints the port once it answers, and ends when its standard input does.
"""

import sys

# Otherwise this file would stand in for the package of its name.
sys.path.pop(0)

import array
import os

import eventlet

eventlet.monkey_patch()

from swift.common import ring, utils, wsgi
from swift.common.http_protocol import SwiftHttpProtocol

FOLDER, REGION = sys.argv[1:]
utils.HASH_PATH_SUFFIX = b"tests"

EACH = f"""
[DEFAULT]
swift_dir = {FOLDER}
devices = {FOLDER}
mount_check = false
"""
PROXY = f"""
[pipeline:main]
pipeline = s3api tempauth slo proxy-server
[filter:s3api]
use = egg:swift#s3api
location = {REGION}
storage_domain = s3.localhost
[filter:tempauth]
use = egg:swift#tempauth
user_farebox_owner = se/cr+et .admin
user_farebox_stranger = se/cr+et
[filter:slo]
use = egg:swift#slo
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
"""


class NoCache:
    """In place of memcached, which signed calls do not need."""

    def get(self, *_, **__):
        return None

    set = delete = get


def serve(name, config):
    """Returns the port of one of the servers."""
    path = os.path.join(FOLDER, f"{name}.conf")
    with open(path, "w") as file:
        file.write(EACH + config)
    listener = eventlet.listen(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    if name != "proxy":
        save_ring(name, port)
    app = wsgi.loadapp(path, global_conf={"log_name": "swift"})

    def answer(environ, start_response):
        environ["swift.cache"] = NoCache()
        return app(environ, start_response)

    eventlet.spawn(
        eventlet.wsgi.server, listener, answer, utils.NullLogger(), protocol=SwiftHttpProtocol
    )
    return port


def save_ring(name, port):
    place = {"ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1", "replication_port": port}
    device = {"id": 0, "region": 1, "zone": 1, "weight": 1, "device": "disk", **place}
    data = ring.RingData([array.array("H", [0])], [device], 32)
    data.save(os.path.join(FOLDER, f"{name}.ring.gz"))


os.makedirs(os.path.join(FOLDER, "disk"))
for name in ["account", "container", "object"]:
    serve(name, f"[app:main]\nuse = egg:swift#{name}\n")
print(serve("proxy", PROXY), flush=True)
eventlet.tpool.execute(sys.stdin.read)
