"""Text with invalid UTF-8, newlines or zero bytes: messages stay one line, and files with any name are found."""

import os

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

NASTY = ["\ud800", "\udcff", "a\nb", "a\0b", "\x1b[2J", "\u202egpj", "\x85", "x" * 100_000]


def told(call):
    with pytest.raises((lanner.Error, TypeError, ValueError, OSError)) as raised:
        call()
    text = str(raised.value)
    assert len(text.splitlines()) == 1 and len(text) < 6000, text[:500]
    assert text.isprintable(), text[:500]


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_text_in_messages(text, tmp_path):
    picture = lanner.Image(np.zeros((4, 4, 3), np.uint8))
    told(lambda: lanner.load_image(os.path.join(tmp_path, text) if text != "\ud800" else "x"))
    told(lambda: lanner.Tensor([1.0]).to(text))
    told(lambda: picture.to_tensor(preset=text))
    told(lambda: lanner.Preprocess(preset=text))
    told(lambda: lanner.Preprocess.from_json(text))
    told(lambda: lanner.VideoReader(b"", format=text))
    told(lambda: lanner.build(b"", device=text))
    told(lambda: lanner.build(b"", **{text: 1}))
    told(lambda: lanner.VideoReader(b"", limits={text: 1}))
    told(lambda: lanner.VideoWriter(tmp_path / "a.mp4", width=2, height=2, **{text: 1}))
    with pytest.raises(lanner.Error) as refused, lanner.VideoWriter(tmp_path / "a.mp4", width=4, height=4, codec=text) as out:
        out.write(picture)
    assert str(refused.value).isprintable()


def test_files_are_found_by_names_of_any_bytes(tmp_path):
    path = os.path.join(tmp_path, os.fsdecode(b"\xff\xfe name.png"))
    lanner.save_image(path, lanner.Image(np.full((4, 4, 3), 7, np.uint8)))
    assert os.path.exists(os.fsencode(path))
    assert np.asarray(lanner.load_image(path)).max() == 7
    assert lanner.load_image(os.fsencode(path)).width == 4
