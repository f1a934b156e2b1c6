"""quarantine: set clients of RUN apart."""

from flockwise.cli.decision import decision

quarantine = decision("quarantine", "Set clients of RUN apart.")
