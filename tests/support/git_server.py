"""Repositories of a folder over http, as a forge serves them: /NAME for all, /private/NAME for who has the token.

    git_server.py FOLDER TOKEN

The first line of output is the port. It ends with its standard input.
"""

import base64
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder, token = sys.argv[1:]
CREDENTIALS = "basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()
BACKEND = os.path.join(subprocess.check_output(["git", "--exec-path"], text=True).strip(), "git-http-backend")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/private/"):
            given = self.headers.get("Authorization", "")
            if given.lower() != CREDENTIALS.lower():
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="private"')
                self.end_headers()
                return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = subprocess.run(
            [BACKEND],
            input=body,
            stdout=subprocess.PIPE,
            check=True,
            env={
                **os.environ,
                "GIT_PROJECT_ROOT": folder,
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path.removeprefix("/private"),
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
            },
        ).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((value for name, value in headers if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
