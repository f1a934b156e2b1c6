import hashlib

import numpy as np

from flockwise.rng import derived_seed, generator


def test_a_generator_is_philox_under_the_hash_of_its_purpose() -> None:
    key = np.frombuffer(hashlib.sha256(b"7/sampling/3").digest()[:16], dtype=np.uint64)
    expected = np.random.Generator(np.random.Philox(key=key))
    assert generator(7, "sampling", 3).permutation(50).tolist() == expected.permutation(50).tolist()


def test_streams_of_other_purposes_rounds_and_seeds_differ() -> None:
    streams = [generator(1, "a", 2), generator(2, "a", 2), generator(1, "b", 2), generator(1, "a", 3)]
    assert len({stream.integers(1 << 62) for stream in streams}) == 4


def test_two_generators_of_one_purpose_do_not_share_their_place() -> None:
    first, second = generator(1, "a"), generator(1, "a")
    first.random(10)
    assert second.random() == generator(1, "a").random()


def test_a_derived_seed_fits_63_bits() -> None:
    assert all(0 <= derived_seed(seed, "model") < 1 << 63 for seed in range(100))
