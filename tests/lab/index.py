"""A local package index for hermetic tests.

uv writes sizes and hashes into a lock only when the index tells them, and a
test needs an index that it can change, watch and put behind a password. This
one serves two folders: distributions (listed under /simple/) and other files.

    /simple/                  list of projects (PEP 503 HTML, PEP 691 JSON)
    /simple/PROJECT/          its files, with hashes, sizes and metadata hashes
                              (PEP 700, PEP 658 / PEP 714)
    /files/NAME               a distribution, its NAME.metadata, or a static file
    /private/simple/...       the same behind Basic authentication: reader:secret
    /private/files/...

Every request is one line in the access log: method, status, bytes, path.
"""

import argparse
import base64
import hashlib
import html
import json
import os
import re
import sys
import threading
import zipfile
from email.parser import HeaderParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "application/vnd.pypi.simple.v1+html"
# Fixed, so that the same files always give the same pages and locks.
UPLOAD_TIME = "2025-01-01T00:00:00.000000Z"
CREDENTIALS = "Basic " + base64.b64encode(b"reader:secret").decode()


def normalize(name):
    """The project name of PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Distribution:
    """One wheel or sdist: what its file name and its metadata say."""

    def __init__(self, path):
        self.filename = path.name
        self.size = path.stat().st_size
        digest = hashlib.sha256()
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
        self.sha256 = digest.hexdigest()
        self.metadata = None
        self.requires_python = None
        if path.suffix == ".whl":
            name, self.version = path.name.split("-")[:2]
            self.metadata = self._wheel_metadata(path)
            headers = HeaderParser().parsestr(self.metadata.decode("utf-8", "replace"))
            self.requires_python = headers.get("Requires-Python")
        else:
            name, self.version = path.name.removesuffix(".tar.gz").rsplit("-", 1)
        self.project = normalize(name)

    @staticmethod
    def _wheel_metadata(path):
        with zipfile.ZipFile(path) as wheel:
            for member in wheel.namelist():
                if re.fullmatch(r"[^/]+\.dist-info/METADATA", member):
                    return wheel.read(member)
        raise ValueError(f"{path.name} has no METADATA")

    def metadata_hashes(self):
        if self.metadata is None:
            return False
        return {"sha256": hashlib.sha256(self.metadata).hexdigest()}


class Store:
    """The distributions of a folder, read again only where a file changed."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.known = {}

    def distributions(self):
        """All distributions, by file name."""
        with self.lock:
            seen = {}
            for entry in os.scandir(self.folder):
                if entry.name.startswith(".") or not entry.name.endswith((".whl", ".tar.gz")):
                    continue
                stat = entry.stat()
                stamp = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
                known = self.known.get(entry.name)
                if known is None or known[0] != stamp:
                    try:
                        known = (stamp, Distribution(Path(entry.path)))
                    except (ValueError, zipfile.BadZipFile) as error:
                        print(f"index: left out {entry.name}: {error}", file=sys.stderr, flush=True)
                        continue
                seen[entry.name] = known
            self.known = seen
            return {name: seen[name][1] for name in sorted(seen)}


def project_json(project, files, up):
    return {
        "meta": {"api-version": "1.1"},
        "name": project,
        "versions": sorted({file.version for file in files}),
        "files": [
            {
                "filename": file.filename,
                "url": f"{up}files/{quote(file.filename)}",
                "hashes": {"sha256": file.sha256},
                "size": file.size,
                "upload-time": UPLOAD_TIME,
                "yanked": False,
                "core-metadata": file.metadata_hashes(),
                "data-dist-info-metadata": file.metadata_hashes(),
                **({"requires-python": file.requires_python} if file.requires_python else {}),
            }
            for file in files
        ],
    }


def project_html(project, files, up):
    lines = []
    for file in files:
        attributes = [f'href="{up}files/{quote(file.filename)}#sha256={file.sha256}"']
        if file.requires_python:
            attributes.append(f'data-requires-python="{html.escape(file.requires_python)}"')
        if hashes := file.metadata_hashes():
            attributes.append(f'data-core-metadata="sha256={hashes["sha256"]}"')
            attributes.append(f'data-dist-info-metadata="sha256={hashes["sha256"]}"')
        lines.append(f"<a {' '.join(attributes)}>{html.escape(file.filename)}</a><br>")
    return page(f"Links for {project}", lines)


def page(title, lines):
    head = f'<!DOCTYPE html>\n<html><head><meta name="pypi:repository-version" content="1.1"><title>{title}</title></head>'
    return "\n".join([head + "<body>", *lines, "</body></html>", ""])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "wheelbase-lab-index"

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        if path.startswith("/private/"):
            if self.headers.get("Authorization") != CREDENTIALS:
                self.answer(401, "text/plain", b"credentials needed\n", {"WWW-Authenticate": 'Basic realm="lab"'})
                return
            path = path.removeprefix("/private")
        if match := re.fullmatch(r"/simple/(?:([^/]+)(/)?)?", path):
            self.simple(match.group(1), match.group(2))
        elif match := re.fullmatch(r"/files/([^/]+)", path):
            self.file(match.group(1))
        else:
            self.missing()

    do_HEAD = do_GET

    def wants_json(self):
        """Whether the Accept header ranks the JSON form above the HTML one."""
        quality = {}
        for part in self.headers.get("Accept", "").split(","):
            media, _, rest = part.strip().partition(";")
            match = re.search(r"q=([0-9.]+)", rest)
            quality[media.strip()] = float(match.group(1)) if match else 1.0
        plain = max(quality.get(HTML_TYPE, 0), quality.get("text/html", 0))
        return quality.get(JSON_TYPE, 0) > 0 and quality[JSON_TYPE] >= plain

    def simple(self, project, slash):
        if project and (project != normalize(project) or not slash):
            prefix = "/private" if self.path.startswith("/private/") else ""
            self.answer(301, "text/plain", b"", {"Location": f"{prefix}/simple/{normalize(project)}/"})
            return
        distributions = self.server.store.distributions().values()
        if project is None:
            names = sorted({file.project for file in distributions})
            document = {"meta": {"api-version": "1.1"}, "projects": [{"name": name} for name in names]}
            text = page("Simple index", [f'<a href="{name}/">{name}</a><br>' for name in names])
        else:
            files = [file for file in distributions if file.project == project]
            if not files:
                self.missing()
                return
            document = project_json(project, files, "../../")
            text = project_html(project, files, "../../")
        if self.wants_json():
            self.answer(200, JSON_TYPE, json.dumps(document, indent=1).encode())
        else:
            self.answer(200, "text/html; charset=utf-8", text.encode())

    def file(self, name):
        distributions = self.server.store.distributions()
        owner = distributions.get(name.removesuffix(".metadata"))
        if name.endswith(".metadata") and owner and owner.metadata is not None:
            self.answer(200, "text/plain; charset=utf-8", owner.metadata)
        elif name in distributions:
            self.send_path(self.server.store.folder / name, distributions[name].sha256)
        elif (self.server.static / name).is_file() and not name.startswith("."):
            path = self.server.static / name
            self.send_path(path, f"{path.stat().st_size:x}-{path.stat().st_mtime_ns:x}")
        else:
            self.missing()

    def send_path(self, path, tag):
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if self.begin(200, "application/octet-stream", size, f'"{tag}"', {}):
                while chunk := stream.read(1 << 20):
                    self.wfile.write(chunk)

    def missing(self):
        self.answer(404, "text/plain", b"not found\n")

    def answer(self, status, media, body, headers=None):
        tag = f'"{hashlib.sha256(media.encode() + body).hexdigest()}"' if status == 200 else None
        if self.begin(status, media, len(body), tag, headers or {}):
            self.wfile.write(body)

    def begin(self, status, media, size, tag, headers):
        """Sends the head; says whether a body is to follow."""
        if status == 200 and tag in self.headers.get("If-None-Match", ""):
            status, size = 304, 0
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(size))
        # Clients ask again each time, so that a file added is seen at once.
        self.send_header("Cache-Control", "no-cache")
        if media in (JSON_TYPE, "text/html; charset=utf-8"):
            self.send_header("Vary", "Accept")
        if tag:
            self.send_header("ETag", tag)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        body_follows = self.command != "HEAD" and status != 304
        self.server.record(f"{self.command} {status} {size if body_follows else 0} {self.path}")
        return body_follows

    def log_message(self, format, *args):
        pass


class Index(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port, files, static, log):
        super().__init__(("127.0.0.1", port), Handler)
        self.store = Store(files)
        self.static = static
        self.log = log.open("a", buffering=1)
        self.log_lock = threading.Lock()

    def record(self, line):
        with self.log_lock:
            self.log.write(line + "\n")


def main():
    parser = argparse.ArgumentParser(description="serve a folder of wheels and sdists as a package index")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--files", type=Path, required=True, help="folder of wheels and sdists")
    parser.add_argument("--static", type=Path, required=True, help="folder of other files")
    parser.add_argument("--log", type=Path, required=True, help="access log")
    arguments = parser.parse_args()
    for folder in (arguments.files, arguments.static):
        folder.mkdir(parents=True, exist_ok=True)
    Index(arguments.port, arguments.files, arguments.static, arguments.log).serve_forever()


if __name__ == "__main__":
    main()
