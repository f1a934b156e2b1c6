from hypothesis import given
from hypothesis import strategies as some

from flockwise.machines.dealing import Guided, Shares

WEIGHTS = some.lists(some.integers(1, 1000), max_size=60)
CORES = some.dictionaries(some.sampled_from("abcde"), some.integers(1, 8), min_size=1)


@given(WEIGHTS, CORES, some.integers(1, 20), some.randoms())
def test_everything_is_dealt_out_once_whoever_is_lost(weights, cores, most, chance):
    deal = Guided([(weight, number) for number, weight in enumerate(sorted(weights)[::-1])], most)
    done: list[int] = []
    while deal.left:
        block = deal.take(chance.choice(sorted(cores)), cores)
        assert block and len(block) <= most
        if chance.random() < 0.3:
            deal.give_back(block)
        else:
            done += block
    assert sorted(done) == list(range(len(weights)))


def test_who_is_alone_takes_all_at_once():
    assert Guided([(1, n) for n in range(10)], 100).take("a", {"a": 2}) == list(range(10))


def test_blocks_get_smaller_towards_the_end():
    deal, cores = Guided([(1, n) for n in range(64)], 100), {"a": 2, "b": 2}
    sizes = [len(deal.take("ab"[turn % 2], cores) or ()) for turn in range(8)]
    assert sizes[0] == 16 and sizes == sorted(sizes, reverse=True) and sizes[-1] <= 8
    assert len(deal.take("a", cores) or ()) >= 2  # a block keeps all cores of its node busy


def test_each_has_its_own_and_what_is_orphaned_goes_to_another():
    deal = Shares({"a": 1, "b": 2, "c": 3})
    assert deal.take("b", {"a": 1, "b": 1, "c": 1}) == 2
    assert deal.take("b", {"a": 1, "b": 1, "c": 1}) is None and deal.left
    assert deal.take("b", {"a": 1, "b": 1}) == 3
    deal.give_back(3)
    assert deal.take("a", {"a": 1}) == 3 and deal.take("a", {"a": 1}) == 1 and not deal.left
