"""A chain that makes no sense is refused when it is put together, in one line that says what to change."""

import numpy as np
import pytest

from flockwise.aggregation import fltrust, mean
from flockwise.clustering import louvain
from flockwise.errors import ConfigError, InputError
from flockwise.messages import Replies
from flockwise.similarity import one_plus_cosine
from flockwise.stages import (
    Choice,
    Clustered,
    Every,
    LatestUpdates,
    Method,
    ServerStep,
    average,
    average_groups,
    average_known,
    chain,
    everyone,
    find_flocks,
    joint,
    keep_snapshots,
    latest_models,
    nothing,
    one_model,
    own_flock,
    place,
    roll_back,
    server_step,
    stage,
    this_round,
    train,
    when,
)
from flockwise.stages.stage import REPLIES, Admitted
from tests.stages.states import a_round, after, batch, state

ALIKE = Clustered(one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), "similarity")
ROUND_ONE = Every(1, every=None)


def refusal(make):
    with pytest.raises((InputError, ConfigError)) as error:
        make()
    text = str(error.value)
    assert len(text.splitlines()) == 1
    return text


def test_averaging_before_anybody_has_trained_is_refused_and_told_to_change_the_order():
    text = refusal(lambda: chain(average(mean()), train()))
    assert text == "average: needs replies, which comes only after it; change their order"


def test_averaging_without_training_is_refused():
    assert (
        refusal(lambda: Method(chain(average(mean()))))
        == "own: average needs replies; put train(...) before it"
    )


def test_comparing_newest_updates_that_nobody_remembers_is_refused():
    newest = LatestUpdates()
    text = refusal(lambda: Method(chain(train(), find_flocks(newest, ALIKE, ROUND_ONE), average(mean()))))
    assert "needs evidence; put a stage that remembers evidence before it" in text
    Method(chain(train(), newest.remember, find_flocks(newest, ALIKE, ROUND_ONE), average(mean())))


def test_remembering_after_comparing_is_refused_with_the_order():
    newest = LatestUpdates()
    text = refusal(lambda: chain(train(), find_flocks(newest, ALIKE), newest.remember))
    assert text == "find flocks: needs evidence, which comes only after it; change their order"


def test_averaging_models_that_nobody_remembers_is_refused():
    text = refusal(
        lambda: Method(chain(train(), find_flocks(this_round, ALIKE), average_known(mean(), latest_models)))
    )
    assert "put a stage that remembers latest before it" in text


def test_going_back_to_models_that_nobody_kept_is_refused():
    text = refusal(lambda: Method(chain(train(), average(mean()), roll_back(True))))
    assert "put a stage that remembers snapshot before it" in text
    Method(chain(train(), keep_snapshots(True), average(mean()), roll_back(True)))


@pytest.mark.parametrize(
    "stages", [nothing, place(), when(lambda round: True, chain(train(), average(mean())))], ids=repr
)
def test_a_round_in_which_nobody_may_train_is_refused(stages):
    assert "never trains; put train(...) into every branch" in refusal(lambda: Method(stages))


def test_averaging_whole_models_with_a_rule_that_compares_updates_with_a_root_is_refused():
    text = refusal(lambda: average_known(fltrust(), latest_models))
    assert text.startswith("aggregation.name = 'fltrust': this method averages whole models")


def test_several_missing_memories_are_told_in_the_same_order_every_time():
    both = chain(find_flocks(LatestUpdates(), ALIKE), average_known(mean(), latest_models))
    assert len({refusal(lambda: Method(chain(train(), both))) for _ in range(5)}) == 1
    assert "needs evidence" in refusal(lambda: Method(chain(train(), both)))


AGAIN = "average: the same replies moved the models before it; put train(...) between them"


def test_averaging_the_same_replies_twice_is_refused():
    assert refusal(lambda: chain(train(), average(mean()), average(mean()))) == AGAIN
    assert refusal(lambda: chain(chain(train(), average(mean())), place(), average(mean()))) == AGAIN
    sometimes = when(lambda round: True, average(mean()))
    assert "the same replies moved" in refusal(lambda: chain(train(), average(mean()), sometimes))
    groups = average_groups(mean())
    assert "average groups: the same replies" in refusal(lambda: chain(train(), average(mean()), groups))


def test_averaging_again_after_training_again_is_fine_and_so_is_one_or_the_other():
    Method(chain(train(), average(mean()), train(), average(mean())))
    one, other = (when(lambda round, odd=odd: round.number % 2 == odd, average(mean())) for odd in (0, 1))
    Method(chain(train(), one, other))


def test_a_servers_step_without_an_average_to_step_along_is_refused():
    text = refusal(lambda: Method(chain(train(), server_step(ServerStep()))))
    assert text == "own: train > server step needs averaged models; put average(...) before it"


@pytest.mark.parametrize("serve", [own_flock, joint, one_model], ids=lambda serve: type(serve).__name__)
def test_models_that_nobody_would_ever_be_given_are_refused(serve):
    text = refusal(lambda: Method(chain(train(), average(mean()), place()), serve=serve, models=3))
    assert text.startswith(
        "own: models = 3: everybody begins with the first and nothing gives anybody another"
    )


def test_several_models_are_for_clients_that_choose_or_are_put_into_flocks():
    Method(chain(train(), average(mean())), serve=Choice(), models=3)
    deal = stage("deal", lambda round: round)
    Method(chain(deal, train(), average(mean())), models=3)


def test_what_is_no_stage_is_named():
    assert refusal(lambda: chain(train(), average)).startswith("chain: <function average")


def test_a_memory_given_by_both_branches_is_there_afterwards_and_by_one_is_not():
    newest = LatestUpdates()
    compare = find_flocks(newest, ALIKE)
    remembering, only = chain(train(), newest.remember), train()
    Method(chain(when(lambda round: True, remembering, otherwise=remembering), compare))
    text = refusal(lambda: Method(chain(when(lambda round: True, remembering, otherwise=only), compare)))
    assert "remembers evidence" in text


def test_a_branch_is_taken_as_the_round_says_when_it_comes_to_it():
    def note(name):
        return stage(name, lambda round: round.noted({name: 1.0}))

    chosen = when(lambda round: "first" in round.facts, note("yes"), otherwise=note("no"))
    assert set(after(chain(note("first"), chosen), a_round(state([0]))).facts) == {"first", "yes"}
    assert set(after(chain(chosen, note("first")), a_round(state([0]))).facts) == {"no", "first"}


def test_stages_that_need_replies_are_passed_over_in_a_round_nobody_answers():
    seen = []

    def noticed(name, needs):
        return stage(name, lambda round: seen.append(name) or round, needs)

    whole = chain(
        train(everyone), noticed("needs", [REPLIES]), noticed("does not", []), noticed("needs too", [REPLIES])
    )
    before = state([0, 0], dimension=2)
    for updates, expected in (
        ([], ["does not"]),
        ([[1.0, 1.0], [2.0, 2.0]], ["needs", "does not", "needs too"]),
    ):
        seen.clear()
        steps = whole.run(a_round(before))
        next(steps)
        columns = np.asarray(updates, np.float32).reshape(-1, 2)
        with pytest.raises(StopIteration) as done:
            steps.send(Admitted(batch(range(len(updates)), columns).replies))
        assert seen == expected
        assert [event.kind for event in done.value.value.events] == ([] if updates else ["skipped"])


def test_a_second_training_that_nobody_answers_does_not_let_the_first_count_twice():
    whole = chain(train(everyone), average(mean()), train(everyone), average(mean()))
    steps = whole.run(a_round(state([0, 0], dimension=2)))
    first = next(steps)
    second = steps.send(Admitted(batch([0, 1], np.ones((2, 2))).replies))
    assert first.models.tolist() == [[0.0, 0.0]] and second.models.tolist() == [[1.0, 1.0]]
    with pytest.raises(StopIteration) as done:
        steps.send(Admitted(Replies.stack(1, (), 2)))
    closed = done.value.value
    assert closed.state.models.tolist() == [[1.0, 1.0]]
    assert closed.arrays["trained"].tolist() == [True, True], "and those that did train are on record"


def test_the_name_of_a_chain_reads_like_the_chain():
    assert repr(chain(train(), nothing, average(mean()))) == "train > average"
    assert repr(when(lambda round: True, train(), otherwise=place())) == "when(train, otherwise place)"
