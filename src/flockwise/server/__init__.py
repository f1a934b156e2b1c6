"""The server: driven by ask and tell, pure, with no torch, clock, file or print inside."""

from flockwise.server.gate import Gate, Verdict
from flockwise.server.server import Server

__all__ = ["Gate", "Server", "Verdict"]
