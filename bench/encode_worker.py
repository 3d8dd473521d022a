"""Encodes raw frames by lanner.Encoder once: the job is JSON in the first argument, the answer a line of JSON.

The measured time is what ffmpeg's -benchmark measures too: to open the encoder, read each frame of the file, encode,
and write the packets. Both have their libraries loaded before.
"""

import json
import sys
import time


def encode(lanner, job):
    with open(job["frames"], "rb", buffering=0) as source, open(job["output"], "wb") as sink:
        encoder = lanner.Encoder(**job["options"])
        while picture := source.read(job["picture_bytes"]):
            encoder.send(picture)
            for packet in encoder:
                sink.write(packet)
        for packet in encoder.end():
            sink.write(packet)


def main():
    import lanner
    import numpy  # noqa: F401  # Which lanner.Encoder takes bytes by.

    lanner.Encoder(codec="png", width=64, height=64).end()  # FFmpeg's libraries are opened at first use.
    job = json.loads(sys.argv[1])
    try:
        start, used = time.perf_counter(), time.process_time()
        encode(lanner, job)
        seconds, used = time.perf_counter() - start, time.process_time() - used
    except lanner.Error as error:
        print(json.dumps({"refused": str(error)}))
        return
    print(json.dumps({"seconds": seconds, "cpu": used, "version": lanner.__version__}))


if __name__ == "__main__":
    main()
