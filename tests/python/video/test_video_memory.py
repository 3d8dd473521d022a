"""Pictures in flight are bounded by their bytes: a small file of huge pictures takes little memory."""

import resource
import struct
import subprocess

import pytest

from command import COMMAND, SECONDS

SIDE = 8000  # A picture of 256 MB.
FRAMES = 12
MEMORY = 1792 << 20  # Of address space, which is more than what is used.


@pytest.fixture(scope="module")
def gif(tmp_path_factory):
    """A kilobyte of 12 pictures of 8000 x 8000, each of which changes one pixel."""
    path = tmp_path_factory.mktemp("gif") / "huge.gif"
    screen = b"GIF89a" + struct.pack("<HHBBB", SIDE, SIDE, 0x80, 0, 0) + bytes([0, 0, 0, 255, 255, 255])
    frame = b"\x21\xf9\x04\x04\x0a\x00\x00\x00" + b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    path.write_bytes(screen + frame * FRAMES + b"\x3b")
    return path


def limited(*arguments, memory=MEMORY):
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
    )


# Digests take longer than decoding: who decodes ahead gets as far ahead as it may.
@pytest.mark.parametrize("options", [[], ["--format", "rgb24"], ["--frames", f"0:{FRAMES}"]], ids=["all", "converted", "chosen"])
def test_a_small_file_of_huge_pictures(gif, options):
    result = limited("decode", gif, "--md5", *options)
    assert (result.returncode, result.stderr, len(result.stdout)) == (0, "", 33)
