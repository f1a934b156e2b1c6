import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flockwise.kernels.closest import closest_mean, closest_of_rows


@settings(max_examples=300, deadline=None)
@given(
    arrays(np.float32, st.tuples(st.just(5), st.integers(1, 12)), elements=st.integers(-4, 4).map(float)),
    st.data(),
)
def test_the_values_closest_to_the_median_are_averaged(block, data):
    count = data.draw(st.integers(1, block.shape[1]))
    block = np.sort(block, axis=1)
    expected = []
    for line in block:
        middle = np.median(line)
        closest = sorted(line, key=lambda value, middle=middle: (abs(value - middle), value))[:count]
        expected.append(np.mean(closest))
    np.testing.assert_allclose(closest_mean(block, count), expected, atol=1e-5)
    np.testing.assert_allclose(closest_of_rows(list(block.T.copy()), count), expected, atol=1e-5)
