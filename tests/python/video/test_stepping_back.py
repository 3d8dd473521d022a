"""Frames by number, each before the one asked for last: the same frames, and the clip is not read again for each of them."""

import io

import numpy as np
import pytest

from compat_support import write_clip

lanner = pytest.importorskip("lanner")
COUNT = 70


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mkv", count=COUNT, gop=50)


@pytest.fixture(scope="module")
def frames(clip):
    return [frame.contiguous().numpy() for frame in lanner.VideoReader(clip)]


class Counted(io.BytesIO):
    given = 0

    def read(self, size=-1):
        data = super().read(size)
        self.given += len(data)
        return data


@pytest.mark.parametrize("options", [{}, {"threads": 1}, {"prefetch": 2}, {"decoders": 2}, {"latency": "low"}, {"raise_on_error": True}, {"format": "rgb24"}])
def test_stepping_back_gives_each_frame(clip, frames, options):
    reader = lanner.VideoReader(clip, **options)
    for number in [*range(COUNT - 1, -1, -1), 40, 39, 38, 45, 44, 44, 43, 60, 0, 69, 68, 69, 68, 67]:
        frame = reader[number]
        assert frame.index == number
        if "format" not in options:
            np.testing.assert_array_equal(frame.contiguous().numpy(), frames[number])


def test_stepping_back_reads_the_clip_a_few_times_only(clip):
    source = Counted(open(clip, "rb").read())
    reader = lanner.VideoReader(source, decoders=1)
    assert len(reader) == COUNT
    source.given = 0
    for number in range(COUNT - 1, -1, -1):
        reader[number]
    assert source.given < 8 * len(source.getvalue())


def test_iteration_goes_on_beside_steps_back(clip, frames):
    reader = lanner.VideoReader(clip)
    for number, frame in enumerate(reader):
        np.testing.assert_array_equal(frame.contiguous().numpy(), frames[number])
        assert reader[COUNT - 1 - number].index == COUNT - 1 - number
