"""Rows of numbers in, the largest element of each row out."""

import json
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import idna
import numpy as np
import rowmax
from markupsafe import Markup

PAGE = Markup("<!doctype html><title>{title}</title><p>POST rows of numbers to http://{host}:{port}/")


class Handler(BaseHTTPRequestHandler):
    """GET is a page for people; POST takes a JSON array of rows."""

    def do_GET(self):
        self.answer(200, "text/html", self.server.page)

    def do_POST(self):
        try:
            rows = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            values, columns = rowmax.rowmax(np.array(rows, np.float64))
            found = zip(values.tolist(), columns.tolist())
            answer = json.dumps([{"value": value, "column": column} for value, column in found], allow_nan=False)
        except (TypeError, ValueError) as error:
            return self.answer(400, "text/plain", f"{error}\n")
        self.answer(200, "application/json", f"{answer}\n")

    def answer(self, status, media, body):
        body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{media}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def server(config):
    """The server that a config file describes, bound and not yet running."""
    settings = tomllib.loads(Path(config).read_text(encoding="utf-8"))
    bound = ThreadingHTTPServer(("", settings["port"]), Handler)
    host = idna.encode(settings["host"]).decode()
    bound.page = PAGE.format(title=settings["title"], host=host, port=bound.server_port)
    return bound
