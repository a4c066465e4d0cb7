"""What the tests of trackers share: the vendors' own tools, which live in an environment of their own, and a server on loopback that
notes what it is sent."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from run_helpers import SKIPPED, SOURCE

VENDORS = SOURCE.resolve() / ".deps/trackers-venv"
TOOL = Path(os.environ.get("RUNNER_BINARY_DIR", "build/release")).resolve() / "bin/tracker_tool"


def in_vendors_environment():
    """Starts the test again with the Python that has the vendors' packages; skips it where there is none."""
    if Path(sys.prefix) == VENDORS:
        return
    python = VENDORS / "bin/python"
    if not python.exists():
        print("skipped: scripts/setup.sh --tests installs the vendors' tools into .deps/trackers-venv")
        sys.exit(SKIPPED)
    os.execv(python, [str(python), *sys.argv])


def scratch():
    """A folder that is the vendors' home as well: they write caches and settings there."""
    folder = tempfile.TemporaryDirectory()
    os.environ.update(HOME=folder.name, XDG_CACHE_HOME=folder.name + "/cache", XDG_CONFIG_HOME=folder.name + "/config")
    return folder


def write(tracker, folder, scenario, *settings, returncode=0):
    """Has a tracker write a small run; see tests/tools/tracker_tool.cpp."""
    done = subprocess.run([TOOL, tracker, str(folder), scenario, *settings], capture_output=True, text=True, cwd=os.environ["HOME"])
    assert done.returncode == returncode, f"{done.returncode}: {done.stderr}"
    return done


def vendor(*words, **environment):
    """Runs a vendor's program, at home: some leave logs where they are started."""
    return subprocess.run([str(VENDORS / "bin" / words[0]), *map(str, words[1:])], capture_output=True, text=True, timeout=300,
                          cwd=os.environ["HOME"], env={**os.environ, **environment})


class Stub:
    """Notes (method, path, body) of every request and answers with what `answer(method, path, body)` gives: JSON, (code, JSON), or
    (code, bytes, headers): whatever it is."""

    def __init__(self, answer):
        stub = self
        self.requests = []
        self.authorization = set()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                stub.authorization.add(self.headers.get("Authorization"))
                stub.requests.append((self.command, self.path, body))
                reply = answer(self.command, self.path, body)
                code, reply, headers = (*reply, {})[:3] if isinstance(reply, tuple) else (200, reply, {})
                encoded = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(code)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(encoded)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(encoded)

            do_GET = do_POST = do_PUT = do_PATCH = handle_any

            def handle(self):
                try:
                    super().handle()
                except ConnectionError:
                    pass  # the client hung up

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
