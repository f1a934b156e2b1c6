"""Weights & Biases in its offline mode: nothing leaves the machine, and what was logged is in its file."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import flockwise as fw

wandb = pytest.importorskip("wandb", reason="wandb is not installed: .ci/extended extras")
pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own


def test_an_offline_run_holds_every_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("WANDB_MODE", "offline"), ("WANDB_DIR", str(tmp_path)), ("WANDB_SILENT", "true")):
        monkeypatch.setenv(name, value)
    config = {"rounds": 3, "split": {"clients": 3}, "engine": {"workers": 1}}
    with fw.trackers.WandB("hospitals") as track:
        run = fw.run(config, out=tmp_path / "run", on_round=track)
    (file,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    assert logged(file, "accuracy") == pytest.approx(run.facts["accuracy"].tolist())


def logged(file: Path, name: str) -> list[float]:
    """The values of a number, in order, from an offline run's file."""
    from wandb.proto import wandb_internal_pb2

    found = []
    for data in records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        found += [
            json.loads(item.value_json)
            for item in record.history.item
            if name in (item.key, *item.nested_key)
        ]
    return found


def records(content: bytes) -> Iterator[bytes]:
    """wandb's file: 7 bytes, then LevelDB's log format, blocks of 32 KiB of records that may go on in the next one."""
    block, header, place, parts = 1 << 15, 7, 7, b""
    while place + header <= len(content):
        if block - place % block < header:
            place += block - place % block
            continue
        _, length, kind = struct.unpack_from("<IHB", content, place)
        parts += content[place + header : place + header + length]
        place += header + length
        if kind in (1, 4):  # a whole record, or the last part of one
            yield parts
            parts = b""
