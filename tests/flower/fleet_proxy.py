"""A TLS proxy that obeys the `location` lines of an nginx server block, in the place of nginx."""

import http.client
import re
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FleetProxy:
    """Listens on loopback with the server's certificate; `passed` and `refused` are the paths it was asked for."""

    def __init__(self, block: str, port: int, files: dict[str, str]):
        passing = re.search(r"location (\S+) \{\s*proxy_pass https://127\.0\.0\.1:(\d+);", block)
        assert passing and re.search(r"location / \{ return 403; \}", block)
        self.prefix, upstream = passing.group(1), int(passing.group(2))
        self.passed: list[str] = []
        self.refused: list[str] = []
        proxy, trusting = self, ssl.create_default_context(cafile=files["ca"])

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                allowed = self.path.startswith(proxy.prefix)
                (proxy.passed if allowed else proxy.refused).append(self.path)
                if not allowed:
                    return self._answer(403, {}, b"")
                # By the name that `proxy_ssl_name` verifies.
                behind = http.client.HTTPSConnection("localhost", upstream, context=trusting, timeout=60)
                headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
                behind.request(self.command, self.path, body, headers)
                answer = behind.getresponse()
                self._answer(answer.status, dict(answer.getheaders()), answer.read())
                behind.close()
                return None

            do_GET = do_POST = _pass_on

            def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in (
                        "content-length",
                        "transfer-encoding",
                        "connection",
                        "date",
                        "server",
                    ):
                        self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files["certificate"], files["key"])
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
