"""The papers by name."""

from flockwise.papers.byzantine_cfl.paper import PAPER as BYZANTINE_CFL
from flockwise.papers.cells import Paper
from flockwise.papers.communities.paper import PAPER as COMMUNITIES
from flockwise.papers.fl_hc.paper import PAPER as FL_HC
from flockwise.papers.flic.paper import PAPER as FLIC
from flockwise.papers.mini_fl.paper import PAPER as MINI_FL

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (FLIC, FL_HC, BYZANTINE_CFL, MINI_FL, COMMUNITIES)}
