"""VideoWriter as a Python object: what is left of a file, and when."""

import os
import threading

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")
BLACK = np.zeros((48, 64, 3), np.uint8)


def open_writer(folder, name="clip.mp4", **options):
    return lanner.VideoWriter(folder / name, width=64, height=48, **options)


def test_pictures_of_every_kind(tmp_path):
    with open_writer(tmp_path) as out:
        assert not out.closed
        out.write(BLACK)
        out.write(lanner.Tensor(BLACK))
        out.write(lanner.Image(BLACK[..., 0].copy(), "gray8"))
        out.write(image=lanner.Image(BLACK, "bgr24"))
    assert out.closed
    video = lanner.VideoReader(tmp_path / "clip.mp4")
    assert len(video) == 4
    with open_writer(tmp_path, "again.mp4") as out:
        out.write(video[0])
    assert len(lanner.VideoReader(tmp_path / "again.mp4")) == 1


def test_an_error_leaves_nothing_while_the_writer_is_held(tmp_path):
    (tmp_path / "clip.mp4").write_bytes(b"older")
    with pytest.raises(KeyError), open_writer(tmp_path) as out:
        out.write(BLACK)
        raise KeyError
    assert out.closed and os.listdir(tmp_path) == ["clip.mp4"]
    assert (tmp_path / "clip.mp4").read_bytes() == b"older"
    with pytest.raises(lanner.Unsupported, match="webm"), open_writer(tmp_path, "clip.webm") as out:
        out.write(BLACK)
    assert out.closed and os.listdir(tmp_path) == ["clip.mp4"]


def test_closing_twice_is_nothing(tmp_path):
    out = open_writer(tmp_path)
    out.write(BLACK)
    out.close()
    out.close()
    with pytest.raises(lanner.InvalidArgument, match="it is closed"):
        out.write(BLACK)
    assert len(lanner.VideoReader(tmp_path / "clip.mp4")) == 1


def test_a_file_without_pictures_is_an_error(tmp_path):
    out = open_writer(tmp_path)
    with pytest.raises(lanner.InvalidArgument, match="no picture was written"):
        out.close()
    out.write(BLACK)
    out.close()
    assert os.listdir(tmp_path) == ["clip.mp4"]


@pytest.mark.parametrize("picture", [None, "x", BLACK[..., 0], BLACK.astype(np.float32), BLACK[:, :-1].copy()])
def test_what_is_no_picture_of_this_video(tmp_path, picture):
    out = open_writer(tmp_path)
    out.write(BLACK)
    with pytest.raises((TypeError, lanner.InvalidArgument)) as caught:
        out.write(picture)
    assert "\n" not in str(caught.value)
    out.close()


def test_discarding_while_another_thread_writes(tmp_path):
    out = open_writer(tmp_path)
    stop = threading.Event()
    failures = []

    def write():
        while not stop.is_set():
            try:
                out.write(BLACK)
            except lanner.InvalidArgument as error:
                failures.append(str(error))
                return

    thread = threading.Thread(target=write)
    thread.start()
    out.__exit__(KeyError, None, None)
    thread.join(60)
    stop.set()
    assert not thread.is_alive() and "it is closed" in failures[0] and os.listdir(tmp_path) == []
