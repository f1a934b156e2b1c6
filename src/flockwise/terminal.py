"""What is shown on a terminal or written to a log."""


def printable(text: str) -> str:
    """Text from outside, without control characters that could command the terminal."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in text)
