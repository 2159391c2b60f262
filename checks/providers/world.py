"""What the checks against strangers share: a fake provider that we did not write, a proxy that records what is sent, and
the real program in a fresh home."""

import http.client
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
AIMOCK = HERE / "node_modules/@copilotkit/aimock/dist/cli.js"

# Long enough that hiding it hides nothing else, and shaped like no key of anybody.
KEY = "the-right-key-of-these-checks"

READY_S_MAX = 20
RUN_S_MAX = 60
PIECE_BYTES = 64 * 1024
BODY_BYTES_MAX = 8 * 1024 * 1024

# How each wire format is named in a model reference, and what its base URL ends with.
FORMATS = ("anthropic", "openai", "openai-chat", "gemini")
VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "openai-chat": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "gemini": ("GEMINI_API_KEY", "GEMINI_BASE_URL", ""),
}


class Aimock:
    """`@copilotkit/aimock` with these fixtures, on a port of its own. It takes one key and refuses all others."""

    def __init__(self, folder, fixtures):
        self.port = free_port()
        self.log = Path(folder) / "aimock.log"
        file = Path(folder) / "fixtures.json"
        file.write_text(json.dumps({"fixtures": fixtures}))
        command = ["node", AIMOCK, "--port", str(self.port), "--fixtures", file]
        command += ["--strict", "--validate-on-load", "--chunk-size", "7", "--log-level", "warn"]
        with self.log.open("w") as log:
            environment = {**os.environ, "AIMOCK_API_KEYS": KEY}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def __enter__(self):
        end = time.monotonic() + READY_S_MAX
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=1).read()
                return self
            except (OSError, urllib.error.URLError):
                if self.process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"aimock does not start:\n{self.log.read_text()}") from None
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


@dataclass
class Sent:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: list
    body: bytes

    def json(self):
        return json.loads(self.body)


class Proxy:
    """Passes everything on to one port and remembers what was asked. The first segment of a path is a tag, under which
    the request is remembered. A tag that begins with `whole-` has the answer asked for at once instead of as a stream."""

    def __init__(self, port):
        self.target = port
        self.sent = {}
        self.lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                proxy.pass_on(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def url(self, tag):
        return f"http://127.0.0.1:{self.port}/{tag}"

    def pass_on(self, asked):
        length = int(asked.headers.get("content-length", 0))
        if length > BODY_BYTES_MAX:
            asked.send_error(413)
            return
        body = asked.rfile.read(length)
        _, tag, rest = asked.path.split("/", 2)
        with self.lock:
            self.sent.setdefault(tag, []).append(Sent(asked.command, "/" + rest, asked.headers.items(), body))
        if rest.startswith("v1/models/"):
            # The fake knows Gemini under its older version alone.
            rest = rest.replace("v1/", "v1beta/", 1)
        if tag.startswith("whole-"):
            rest, body = whole(rest, body)
        keep = {n: v for n, v in asked.headers.items() if n.lower() not in ("host", "content-length", "connection")}
        line = http.client.HTTPConnection("127.0.0.1", self.target, timeout=RUN_S_MAX)
        line.request("POST", "/" + rest, body, {**keep, "connection": "close"})
        answer = line.getresponse()
        asked.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                asked.send_header(name, value)
        asked.send_header("connection", "close")
        asked.end_headers()
        asked.close_connection = True
        try:
            while piece := answer.read1(PIECE_BYTES):
                asked.wfile.write(piece)
                asked.wfile.flush()
        except (http.client.HTTPException, OSError):
            # What breaks off there ends here.
            return


def whole(path, body):
    """The same request for one answer that is not a stream."""
    asked = json.loads(body)
    for word in ("stream", "stream_options"):
        asked.pop(word, None)
    path = path.replace(":streamGenerateContent", ":generateContent").replace("?alt=sse", "")
    return path, json.dumps(asked).encode()


@dataclass
class Ran:
    """How one `wakeful run` ended."""

    code: int
    report: dict
    said: str
    seconds: float
    failure: dict = field(default_factory=dict)


def run(program, form, model, address, key=KEY, prompt="Go.", settings=None):
    """One `wakeful run` in a fresh home, with a key and an address in the environment and nothing else but `settings`."""
    key_variable, url_variable, ending = VARIABLES[form]
    with tempfile.TemporaryDirectory(prefix="wakeful-providers-") as folder:
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "WAKEFUL_HOME": f"{folder}/home",
            key_variable: key,
            url_variable: address + ending,
        }
        for name, value in (settings or {}).items():
            subprocess.run([program, "config", "set", name, value], env=environment, capture_output=True, check=True)
        command = [program, "run", "--json", "--workspace", workspace, "--model", f"{form}/{model}"]
        # The commands of the fixtures only print, so they may run where the kernel confines nothing.
        command += ["--allow-unsandboxed", prompt]
        begun = time.monotonic()
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RUN_S_MAX, check=False)
        seconds = time.monotonic() - begun
    said = ended.stdout + ended.stderr
    try:
        report = json.loads(ended.stdout)
    except ValueError:
        raise AssertionError(f"`wakeful run` ended with {ended.returncode} and no report: {said}") from None
    return Ran(ended.returncode, report, said, seconds, report.get("failure_artifact") or {})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
