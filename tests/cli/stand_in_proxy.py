"""A proxy as the launcher sees one: serves on a socket it is given, ends when the launcher does.

Every answer is the pid of the process that gave it.
"""

import argparse
import http.server
import os
import socket
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = str(os.getpid()).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int)
    parser.add_argument("--parent-fd", type=int)
    parser.add_argument("--fail", action="store_true")
    arguments = parser.parse_args()
    os.write(1, b"started\n")
    if arguments.fail:
        raise SystemExit(1)
    server = http.server.ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=arguments.fd)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.read(arguments.parent_fd, 1)


main()
