"""Options of readers in pairs: each gives the same frames, or one line."""

import itertools

import numpy as np
import pytest

from command import DATA

lanner = pytest.importorskip("lanner")

OPTIONS = [
    {"rotate": False}, {"prefetch": 1}, {"prefetch": 4}, {"threads": 1}, {"threads": 3}, {"decoders": 1}, {"decoders": 3}, {"frame_bytes": 1},
    {"cache_index": False}, {"latency": "low"}, {"sei": True}, {"raise_on_error": True}, {"format": "rgb24"}, {"output": "cpu"}, {"device": "auto"},
    {"preprocess": lanner.Preprocess(size=(8, 8))}, {"limits": {"total_bytes": "1GiB"}}, {"stream": 0},
]  # fmt: skip


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    with lanner.VideoWriter(path, width=32, height=16, codec="mpeg4", gop=3) as out:
        for i in range(9):
            out.write(np.full((16, 32, 3), 20 * i, np.uint8))
    return path


@pytest.fixture(scope="module")
def frames(clip):
    return [frame.pts for frame in lanner.VideoReader(clip)]


def exclude_each_other(options):
    """Nothing is decoded ahead with low latency."""
    return options.get("latency") == "low" and (options.get("prefetch", 0) > 0 or options.get("decoders", 1) > 1)


@pytest.mark.parametrize("make", [lanner.VideoReader, lanner.ParallelDecoder])
def test_pairs_of_options(make, clip, frames):
    for one, other in itertools.combinations(OPTIONS, 2):
        options = {**one, **other}
        if exclude_each_other(options):
            with pytest.raises(lanner.InvalidArgument, match="^[^\n]*latency low[^\n]* exclude each other; leave one out$"):
                make(clip, **options)
            continue
        read = list(make(clip, **options))
        assert [frame.pts for frame in read] == frames, options
        assert [frame.index for frame in read] == list(range(len(frames))), options
        assert all((frame.tensor is not None) == ("preprocess" in options) for frame in read), options


@pytest.mark.parametrize("make", [lanner.VideoReader, lanner.ParallelDecoder])
@pytest.mark.parametrize("option", ["cuda_context", "cuda_stream"])
def test_what_is_for_a_gpu_is_refused_on_the_cpu(make, option, clip):
    for others in itertools.chain.from_iterable(itertools.combinations(OPTIONS, n) for n in (0, 1)):
        options = {option: 4096, **{key: value for one in others for key, value in one.items()}}
        if options.get("device") == "auto":
            continue  # Where it goes is open.
        with pytest.raises(lanner.InvalidArgument, match=f"^[^\n]*{option.replace('cuda_', 'CUDA ')} is for [^\n]* cpu; [^\n]*$"):
            make(clip, **options)


@pytest.mark.parametrize("make", [lanner.VideoReader, lanner.ParallelDecoder])
def test_an_index_goes_with_its_own_clip_alone(make, clip, frames, tmp_path):
    index = lanner.VideoReader(clip).index
    for other in OPTIONS:
        assert [frame.pts for frame in make(clip, index=index, **other)] == frames
    with lanner.VideoWriter(tmp_path / "other.mp4", width=32, height=16, codec="mpeg4") as out:
        out.write(np.zeros((16, 32, 3), np.uint8))
    with pytest.raises(lanner.InvalidArgument, match="^[^\n]+$"):
        make(tmp_path / "other.mp4", index=index)


def test_a_turned_clip_with_and_without_turning():
    turned = DATA / "video" / "torchcodec" / "nasa_13013_rotated.mp4"
    if not turned.exists():
        pytest.skip(f"{turned} is not there")
    for rotate, prefetch, decoders in itertools.product([False, True], [0, 4], [1, 2]):
        options = {"rotate": rotate, "prefetch": prefetch, "decoders": decoders}
        assert len(list(lanner.VideoReader(turned, **options))) == 17, options
        assert len(list(lanner.ParallelDecoder(turned, **options))) == 17, options
