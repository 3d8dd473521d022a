"""One system that reads video, in a process of its own: takes jobs as lines of JSON, answers with seconds and a digest.

A job passes its frames to `look`, which sums a few of their pixels, so that no system wins by returning
other frames.
"""

import json
import random
import sys
import time

import numpy as np

LOOKS = 500  # Pixels that are summed of a frame of any format.


class Look:
    """Counts frames and remembers their sums."""

    def __init__(self):
        self.sums = []

    def __call__(self, array):
        samples = np.asarray(array).reshape(-1)
        self.sums.append(int(samples[:: max(1, samples.size // LOOKS)].astype(np.int64).sum()))


def chosen(job):
    """Numbers of the frames of a job: sorted, random, the same for every system."""
    return sorted(random.Random(job["seed"]).sample(range(job["frames"]), job["count"]))


class Lanner:
    """This project. `device` of a job is cpu or cuda:0."""

    def __init__(self):
        import lanner

        self.lanner = lanner

    def version(self):
        return self.lanner.__version__

    def reader(self, job, **options):
        return self.lanner.VideoReader(job["clip"], threads=job["threads"], device=job["device"], **options)

    def parallel(self, job, **options):
        decoders = job.get("decoders", 0)
        return self.lanner.ParallelDecoder(
            job["clip"], threads=job["threads"], device=job["device"], decoders=decoders, **options
        )

    def native(self, job, look):
        decoder = self.parallel(job)
        for frame in decoder:
            look(0 if job["device"] != "cpu" else np.asarray(frame.planes[0]))
        return decoder.decoder

    def rgb(self, job, look):
        decoder = self.parallel(job, format="rgb24")
        for frame in decoder:
            look(frame)
        return decoder.decoder

    def some(self, job, look):
        reader = self.reader(job, format="rgb24")
        for frame in reader[chosen(job)]:
            look(0 if job["device"] != "cpu" else frame)
        return reader.decoder

    def first(self, job, look):
        reader = self.reader(job)
        look(0 if job["device"] != "cpu" else np.asarray(reader[0].planes[0]))
        return reader.decoder

    def loader(self, job, look):
        reader = self.reader(job)
        batch = reader.batch(reader.sample_indices(job["count"]), size=(224, 224), range=(0, 1), dtype="f32")
        look(np.asarray(batch))
        return reader.decoder

    def tensors(self, job, look):
        spec = self.lanner.Preprocess(size=(224, 224), preset="imagenet", dtype="f16")
        decoder = self.parallel(job, preprocess=spec)
        for frame in decoder:
            look(frame.tensor.shape[3])
        return decoder.decoder


class PyAV:
    def __init__(self):
        import av

        self.av = av

    def version(self):
        return self.av.__version__

    def frames(self, container, job):
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = job["threads"]
        return container.decode(stream)

    def rgb(self, job, look):
        with self.av.open(job["clip"]) as container:
            for frame in self.frames(container, job):
                look(frame.to_ndarray(format="rgb24"))
        return "libavcodec"

    def loader(self, job, look):
        """Decodes from the keyframe before each wanted frame, or continues after the last one."""
        count, total = job["count"], job["frames"]
        wanted = [(2 * i + 1) * total // (2 * count) for i in range(count)]
        batch = np.empty((count, 3, 224, 224), np.float32)
        with self.av.open(job["clip"]) as container:
            stream = container.streams.video[0]
            tick = int(1 / (stream.average_rate * stream.time_base))
            frames, number, done = self.frames(container, job), -1, 0
            for target in wanted:
                if number < 0 or target - number > job["gop"]:
                    container.seek(target * tick, stream=stream)
                    frames = self.frames(container, job)
                for frame in frames:
                    number = frame.pts // tick
                    if number == target:
                        pixels = frame.reformat(224, 224, "rgb24").to_ndarray()
                        batch[done] = pixels.transpose(2, 0, 1) / np.float32(255)
                        done += 1
                        break
        look(batch)
        return "libavcodec"


class OpenCV:
    def __init__(self):
        import cv2

        self.cv2 = cv2

    def version(self):
        return self.cv2.__version__

    def rgb(self, job, look):
        self.cv2.setNumThreads(job["threads"])
        capture = self.cv2.VideoCapture(job["clip"], self.cv2.CAP_FFMPEG, [self.cv2.CAP_PROP_N_THREADS, job["threads"]])
        while True:
            good, picture = capture.read()
            if not good:
                return "libavcodec"
            look(picture)


class Decord:
    def __init__(self):
        import decord

        self.decord = decord

    def version(self):
        return self.decord.__version__

    def rgb(self, job, look):
        reader = self.decord.VideoReader(job["clip"], num_threads=job["threads"])
        for i in range(len(reader)):
            look(reader[i].asnumpy())
        return "libavcodec"

    def some(self, job, look):
        reader = self.decord.VideoReader(job["clip"], num_threads=job["threads"])
        for picture in reader.get_batch(chosen(job)).asnumpy():
            look(picture)
        return "libavcodec"

    def loader(self, job, look):
        count, total = job["count"], job["frames"]
        wanted = [(2 * i + 1) * total // (2 * count) for i in range(count)]
        reader = self.decord.VideoReader(job["clip"], width=224, height=224, num_threads=job["threads"])
        pictures = reader.get_batch(wanted).asnumpy()
        look(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)).astype(np.float32) / np.float32(255))
        return "libavcodec"


class PyNvVideoCodec:
    """Frames on the device; one session, or several threads each with a session and a copy of the clip."""

    def __init__(self):
        import PyNvVideoCodec

        self.codec = PyNvVideoCodec

    def version(self):
        return self.codec.__version__

    def decoder(self, clip):
        return self.codec.SimpleDecoder(clip, gpu_id=0, use_device_memory=True)

    def all_of(self, clip, look):
        demuxer = self.codec.CreateDemuxer(clip)
        decoder = self.codec.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), usedevicememory=True)
        for packet in demuxer:
            for _ in decoder.Decode(packet):
                look(0)

    def native(self, job, look):
        sessions = job.get("decoders", 1)
        if sessions <= 1:
            self.all_of(job["clip"], look)
            return "NVDEC, 1 session"
        import threading

        looks = [Look() for _ in range(sessions)]
        threads = [threading.Thread(target=self.all_of, args=(job["clip"], look)) for look in looks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for other in looks:
            look.sums += other.sums
        return f"NVDEC, {sessions} sessions"

    def some(self, job, look):
        decoder = self.decoder(job["clip"])
        for _ in decoder.get_batch_frames_by_index(chosen(job)):
            look(0)
        return "NVDEC, 1 session"

    def first(self, job, look):
        decoder = self.decoder(job["clip"])
        decoder[0]
        look(0)
        return "NVDEC, 1 session"


SYSTEMS = {
    "lanner": Lanner,
    "PyAV": PyAV,
    "OpenCV": OpenCV,
    "decord": Decord,
    "PyNvVideoCodec": PyNvVideoCodec,
}


def main():
    system = SYSTEMS[sys.argv[1]]()
    print(json.dumps({"version": system.version()}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        look = Look()
        start = time.perf_counter()
        decoder = getattr(system, job["do"])(job, look)
        seconds = time.perf_counter() - start
        answer = {"seconds": seconds, "frames": len(look.sums), "sums": look.sums[:64], "decoder": decoder}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
