import numpy as np
import pytest
import torch
from torch import nn

from flockwise.errors import InputError
from flockwise.models import Layout


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2))


def test_without_buffers_the_vector_is_the_one_of_torch():
    module = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    expected = torch.nn.utils.parameters_to_vector(module.parameters()).detach().numpy()
    np.testing.assert_array_equal(Layout.of(module).read(module), expected)


def test_running_statistics_are_in_the_vector_but_not_trainable():
    entries = {entry.name: entry for entry in Layout.of(network()).entries}
    assert not entries["1.running_mean"].trainable
    assert not entries["1.running_var"].trainable
    assert entries["1.weight"].trainable
    assert "1.num_batches_tracked" not in entries


def test_entries_follow_each_other_without_gaps():
    layout = Layout.of(network())
    starts = [entry.start for entry in layout.entries]
    assert starts == [0] + [entry.stop for entry in layout.entries[:-1]]
    assert all(entry.stop - entry.start == np.prod(entry.shape) for entry in layout.entries)
    assert layout.size == layout.entries[-1].stop == 3 * 4 * 9 + 4 + 4 * 4 + 4 * 2 + 2


def test_writing_then_reading_gives_the_same_vector_back():
    module, layout = network(), Layout.of(network())
    vector = np.arange(layout.size, dtype=np.float32)
    layout.write(module, vector)
    np.testing.assert_array_equal(layout.read(module), vector)
    assert module[0].weight[0, 0, 0, 1].item() == 1.0


def test_memory_format_does_not_change_the_vector():
    module = network()
    expected = Layout.of(module).read(module)
    module.to(memory_format=torch.channels_last)
    np.testing.assert_array_equal(Layout.of(module).read(module), expected)


def test_writing_resets_whole_number_buffers():
    module, layout = network(), Layout.of(network())
    module[1].num_batches_tracked.fill_(7)
    layout.write(module, layout.read(module))
    assert module[1].num_batches_tracked.item() == 0


def test_read_only_vectors_can_be_written_and_are_not_changed():
    module, layout = network(), Layout.of(network())
    vector = np.ones(layout.size, dtype=np.float32)
    vector.flags.writeable = False
    layout.write(module, vector)
    with torch.no_grad():
        module[0].weight.zero_()
    assert vector.all()


def test_reading_gives_a_copy():
    module = network()
    vector = Layout.of(module).read(module)
    vector[:] = 5
    assert (Layout.of(module).read(module) != 5).any()


def test_frozen_parameters_are_not_trainable():
    module = network()
    module[0].weight.requires_grad_(False)
    assert not Layout.of(module).entries[0].trainable


def test_a_vector_of_another_size_is_refused():
    with pytest.raises(InputError, match="this model needs"):
        Layout.of(network()).write(network(), np.zeros(3, dtype=np.float32))


def test_a_module_without_parameters_has_an_empty_vector():
    assert Layout.of(nn.ReLU()).read(nn.ReLU()).shape == (0,)
