"""confirm: keep clients that were set apart out of RUN for good."""

from flockwise.cli.decision import decision

confirm = decision("confirm", "Keep clients that were set apart out of RUN for good.")
