import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise import aggregation
from flockwise.errors import InputError
from flockwise.kernels import absolute, gram, native, set_threads
from flockwise.kernels.combine import squared_lengths
from flockwise.kernels.native import calls, loading
from flockwise.native import load_library
from flockwise.similarity import cosine, l1, l2

found, reason = load_library("flockwise.kernels.native", "kernels")
pytestmark = pytest.mark.skipif(found is None, reason=reason)

SMALLEST = loading.SMALLEST
NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 1e-40, 3e38, -3e38, 0.1, 7.25)


@pytest.fixture(autouse=True, scope="module")
def compiled():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "SMALLEST", 0)
        yield


def with_numpy(monkeypatch, function, *arguments):
    with monkeypatch.context() as patch:
        patch.setattr(loading, "SMALLEST", 1 << 62)
        return function(*arguments)


def same_bits(one, other):
    return np.array_equal(one.view(np.uint32), other.view(np.uint32))


def random_rows(seed, clients, size):
    return np.random.default_rng(seed).standard_normal((clients, size), dtype=np.float32)


@st.composite
def matrices(draw):
    """Rows of few different numbers (ties), of awkward ones, or of any."""
    clients, size = draw(st.integers(1, 300)), draw(st.integers(1, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(("normal", "ties", "awkward")))
    if kind == "normal":
        return random.standard_normal((clients, size), dtype=np.float32)
    if kind == "ties":
        return random.integers(-3, 4, (clients, size)).astype(np.float32)
    return random.choice(np.array(NUMBERS, np.float32), (clients, size))


@settings(max_examples=300, deadline=None)
@given(matrices())
def test_the_median_is_numpys_bit_for_bit(rows):
    expected = np.median(rows.astype(np.float64), axis=0).astype(np.float32) + np.float32(0)
    ours = aggregation.median(rows)
    # float64 rounds the mean of two once, float32 the same unless it is denormal.
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1.5e-45)
    normal = np.abs(expected) > 1e-37
    assert same_bits(ours[normal], expected[normal])


@settings(max_examples=300, deadline=None)
@given(matrices(), st.floats(0, 0.499))
def test_the_trimmed_mean_is_the_rounded_mean_of_the_middle(rows, trim):
    cut = aggregation.coordinatewise.trimmed_count(len(rows), trim)
    middle = np.sort(rows.astype(np.float64), axis=0)[cut : len(rows) - cut]
    size = np.abs(middle).max(axis=0)
    assert (
        np.abs(aggregation.trimmed_mean(rows, trim) - middle.mean(axis=0)) <= 6.1e-8 * size + 1.5e-45
    ).all()


@pytest.mark.parametrize("clients", [*range(1, 70), 127, 128, 129, 255, 257, 300, 511, 513, 1000, 1025])
def test_every_number_of_clients_is_sorted(clients, monkeypatch):
    rows = random_rows(clients, clients, 37)
    assert same_bits(aggregation.median(rows), with_numpy(monkeypatch, aggregation.median, rows))
    for trim in (0.0, 0.1, 0.25, 0.3, 0.45):
        ours = aggregation.trimmed_mean(rows, trim)
        theirs = with_numpy(monkeypatch, aggregation.trimmed_mean, rows, trim)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=5e-7)


@pytest.mark.parametrize("clients", (3, 7, 11, 20, 60, 100))
def test_bulyan_agrees_with_numpy(clients, monkeypatch):
    f = (clients - 3) // 4
    rows = random_rows(clients, clients, 99)
    ours, theirs = aggregation.bulyan(rows, f), with_numpy(monkeypatch, aggregation.bulyan, rows, f)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=5e-7)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 60), st.integers(1, 300), st.integers(0, 1000))
def test_the_closest_values_are_those_a_search_finds(clients, kept, seed):
    kept = min(kept, clients)
    rows = np.random.default_rng(seed).integers(-5, 6, (clients, 9)).astype(np.float32)
    expected = []
    for column in np.sort(rows.astype(np.float64), axis=0).T:
        middle = (column[(clients - 1) // 2] + column[clients // 2]) / 2
        expected.append(np.mean(sorted(column, key=lambda value: (abs(value - middle), value))[:kept]))
    ours = native.closest_mean(rows, np.arange(clients), kept)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "shape", [(1, 5), (2, 1), (3, 8), (5, 1023), (6, 1024), (7, 1025), (33, 5000), (64, 77)]
)
def test_pairs_agree_with_float64(shape):
    rows, center = random_rows(1, *shape), random_rows(2, 1, shape[1])[0]
    exact = rows.astype(np.float64)
    distances = np.abs(exact[:, None] - exact[None]).sum(axis=2)
    np.testing.assert_allclose(l1(rows), distances, rtol=2e-6)
    moved = exact - center
    tolerance = 3e-6 * np.sqrt(np.outer(*[(moved**2).sum(axis=1)] * 2))
    assert (np.abs(native.pair_sums("products", rows, center) - moved @ moved.T) <= tolerance).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 9), st.integers(1, 5000), st.booleans())
def test_lengths_agree_with_float64(clients, size, centered):
    rows, center = random_rows(size, clients, size), random_rows(2, 1, size)[0] if centered else None
    expected = ((rows.astype(np.float64) - (0 if center is None else center)) ** 2).sum(axis=1)
    np.testing.assert_allclose(squared_lengths(rows, center), expected, rtol=2e-6)


def test_l1_of_nearly_equal_rows_keeps_its_digits():
    base = random_rows(3, 1, 5000)
    rows = base + 1e-4 * random_rows(4, 6, 5000)
    exact = np.abs(rows.astype(np.float64)[:, None] - rows[None]).sum(axis=2)
    np.testing.assert_allclose(l1(rows), exact, rtol=2e-6)


def test_l1_too_large_for_float32_is_right():
    rows = np.array([[3e38, 1.0], [-3e38, 1.0]], np.float32)
    np.testing.assert_allclose(l1(rows)[0, 1], 6e38, rtol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5000), st.integers(0, 100))
def test_the_weighted_mean_agrees_with_float64(clients, size, seed):
    rows = random_rows(seed, clients, size)
    weights = np.random.default_rng(seed).random(clients) + 0.01
    expected = weights / weights.sum() @ rows.astype(np.float64)
    np.testing.assert_allclose(aggregation.mean(rows, weights), expected, rtol=0, atol=2e-6)


RULES = {
    "mean": aggregation.mean,
    "median": aggregation.median,
    "trimmed mean": aggregation.trimmed_mean,
    "strongly trimmed mean": lambda rows: aggregation.trimmed_mean(rows, 0.4),
    "multi-krum": lambda rows: aggregation.multi_krum(rows, 2),
    "bulyan": lambda rows: aggregation.bulyan(rows, 2),
    "geometric median": aggregation.geometric_median,
    "centered clipping": lambda rows: aggregation.centered_clipping(rows, 10.0),
    "l1": l1,
    "l2": l2,
    "cosine": cosine,
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(name, bad):
    rows = random_rows(5, 13, 5003)
    for place in ((0, 0), (12, 5002), (6, 4096)):
        spoiled = rows.copy()
        spoiled[place] = bad
        with pytest.raises(InputError, match=rf"updates\[{place[0]}, {place[1]}\]"):
            RULES[name](spoiled)


@pytest.mark.parametrize("name", RULES)
def test_any_number_of_threads_gives_the_same_bits(name):
    rows = random_rows(6, 13, 400_001)
    results = []
    try:
        for threads in (1, 2, 3, 5):
            set_threads(threads)
            results.append(RULES[name](rows))
    finally:
        set_threads(None)
    assert all(result.tobytes() == results[0].tobytes() for result in results)


@pytest.mark.parametrize("name", ["median", "trimmed mean", "strongly trimmed mean"])
def test_the_order_of_clients_does_not_matter(name):
    rows = random_rows(7, 50, 3001)
    shuffled = rows[np.random.default_rng(0).permutation(50)]
    assert same_bits(RULES[name](rows), RULES[name](shuffled))


@pytest.mark.parametrize("name", RULES)
def test_the_updates_are_left_alone(name):
    rows = random_rows(8, 13, 5003)
    before = rows.copy()
    RULES[name](rows)
    assert same_bits(rows, before)


def test_small_inputs_never_compile(monkeypatch):
    monkeypatch.setattr(loading, "SMALLEST", SMALLEST)
    rows = random_rows(9, 10, 1000)

    def refuse(*arguments):
        raise AssertionError("compiled for a small input")

    monkeypatch.setattr(loading, "_kernels", refuse)
    aggregation.median(rows)
    aggregation.mean(rows)
    l1(rows)


def test_kernels_that_find_no_memory_leave_it_to_numpy(monkeypatch):
    class Full:
        """Whatever is called says that there is no memory."""

        def __getattr__(self, name):
            return lambda *_: 2

    monkeypatch.setattr(calls, "library", lambda numbers: Full())
    rows, center = random_rows(12, 5, 30), random_rows(12, 1, 30)[0]
    assert native.middle_mean(rows, 1) is None and native.closest_mean(rows, np.arange(5), 3) is None
    assert native.pair_sums("products", rows, center) is None and native.squared_lengths(rows) is None


def test_how_much_there_is_decides_who_does_it(monkeypatch):
    said = []
    monkeypatch.setattr(calls, "library", lambda numbers: said.append(numbers))
    rows = random_rows(13, 5, 30)
    assert native.middle_mean(rows, 1) is None and native.closest_mean(rows, np.arange(3), 2) is None
    assert native.weighted_sum(rows, np.ones(5, np.float32)) is None
    assert native.pair_sums("products", rows) is None and native.squared_lengths(rows) is None
    assert native.fold(rows, rows[0], np.zeros(1, np.int64), 0, rows) is False
    assert said == [150, 90, 150, 150, 150, 150]


def test_the_order_of_sums_stays_as_it_is():
    """The bits of runs on record depend on it."""
    assert (calls.WIDTH, calls.PARTS, calls.MOST_SORTED) == (4096, 8, 4096)
    assert (gram.BLOCK, gram.PARTS, gram.FEW, gram.CLOSE) == (8192, 8, 128, 0.02)
    assert (absolute.WIDTH, absolute.TILE) == (16384, 8)


def test_without_a_library_numpy_does_it(monkeypatch):
    rows = random_rows(10, 13, 5003)
    assert native.status() == "C++"
    compiled_result = aggregation.median(rows)
    monkeypatch.setattr(loading, "_kernels", lambda: (None, "no C++ compiler found"))
    assert native.status() == "NumPy: no C++ compiler found"
    assert same_bits(aggregation.median(rows), compiled_result)
    for name in RULES:
        RULES[name](rows)


def test_numbers_are_passed_with_all_their_bits():
    kernels = loading.library(loading.SMALLEST)
    for name, arguments in loading._ARGUMENTS.items():
        assert getattr(kernels, name).argtypes == arguments


@pytest.mark.parametrize("lanes", [4, 16])
def test_machines_with_other_vectors_agree(lanes, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rows = random_rows(11, 29, 2001)
    expected = {name: RULES[name](rows) for name in RULES}
    flags = ("-O1", "-w", f"-DFLOCKWISE_LANES={lanes}")
    other, reason = load_library("flockwise.kernels.native", "kernels", flags)
    assert other is not None and other.flockwise_lanes() == lanes, reason
    loading.declare(other)
    monkeypatch.setattr(loading, "_kernels", lambda: (other, ""))
    assert same_bits(aggregation.median(rows), expected["median"])
    assert same_bits(aggregation.trimmed_mean(rows), expected["trimmed mean"])
    for name in RULES:
        np.testing.assert_allclose(RULES[name](rows), expected[name], rtol=1e-5, atol=1e-6)
