"""Methods that take honest minorities for hostile say so before they start, and again when it has happened."""

import numpy as np
import pytest

import flockwise as fw
from flockwise.stages.state import first_state


@pytest.mark.parametrize(
    ("method", "word"),
    [
        (fw.byzantine_cfl(), "byzantine-cfl sets all but the largest part"),
        (fw.flic(judge="largest"), "'largest' takes every flock but the largest for hostile"),
        (fw.flic(judge="root"), "'root' takes clients of another kind"),
        (fw.custom(when="every", scope="within", clustering="bipartition", evidence="this-round", keep="largest"),
         "keep = 'largest' sets all but the largest part"),
        (fw.flic(judge="validation"), ""),
        (fw.cfl(), ""),
        (fw.shepherd(), ""),
    ],
)  # fmt: skip
def test_who_chooses_such_a_method_is_told(method, word):
    state = first_state(np.zeros((1, 3)), 6)
    told = [remark for remark in method.remarks(state, 30) if "honest" in remark]
    assert len(told) == bool(word)
    if word:
        assert word in told[0] and "only where all honest clients are of one kind" in told[0]
        apart = state.apart.copy()
        apart[:2] = 1
        later = [
            r for r in method.remarks(type(state)(20, state.models, state.labels, apart), 30) if "honest" in r
        ]
        assert later[0].endswith("; 2 clients are set apart")
