"""Seeds of tests/fuzz/corpus/audio: a short noise in several codecs and containers, by ffmpeg."""

import subprocess
import tempfile
from pathlib import Path

FILES = {
    "wav": ["-c:a", "pcm_s16le"], "oga": ["-c:a", "flac"], "mp3": ["-c:a", "libmp3lame", "-b:a", "32k"], "m4a": ["-c:a", "aac", "-b:a", "32k"],
    "ogg": ["-c:a", "libopus", "-b:a", "16k"], "mka": ["-c:a", "libvorbis"], "ac3": ["-c:a", "ac3", "-b:a", "64k"],
}  # fmt: skip


def audio_seeds():
    seeds = {}
    with tempfile.TemporaryDirectory() as folder:
        for ending, options in FILES.items():
            path = Path(folder) / f"seed.{ending}"
            noise = "aevalsrc=0.3*sin(3000*t*t):s=16000:d=0.15"
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", noise, *options, "-fflags", "+bitexact", path], check=True)
            seeds[ending] = path.read_bytes()
    return seeds
