"""release: let clients that were set apart take part in RUN again."""

from flockwise.cli.decision import decision

release = decision("release", "Let clients that were set apart take part in RUN again.")
