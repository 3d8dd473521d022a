"""lanner.Encoder: pictures of every kind in, packets out, and what changes meanwhile."""

import fractions
import threading

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")
WIDTH, HEIGHT = 96, 64


def make(**options):
    try:
        return lanner.Encoder(**{"width": WIDTH, "height": HEIGHT, "threads": 1, **options})
    except lanner.Unsupported as error:
        pytest.skip(str(error))


def gradient(i=0):
    rows = np.add.outer(np.arange(HEIGHT), np.arange(WIDTH) + 3 * i)
    return np.stack([rows % 200, rows // 2, 255 - rows % 256], 2).astype(np.uint8)


def encode(encoder, pictures, **request):
    packets = []
    for picture in pictures:
        encoder.send(picture, **request)
        packets += encoder
    return packets + encoder.end()


def luma(value):
    """Planes of NV12, one below the other."""
    return np.full((HEIGHT * 3 // 2, WIDTH), value, np.uint8)


def test_packets_tell_times_types_and_qp():
    encoder = make(const_qp=(24, 26, 28), b_frames=2, fps=fractions.Fraction(30000, 1001))
    packets = encode(encoder, [gradient(i) for i in range(8)])
    assert sorted(packet.pts for packet in packets) == list(range(8))
    assert all(packet.dts <= packet.pts for packet in packets)
    assert packets[0].key and packets[0].picture_type == "I" and packets[0].average_qp == 24
    assert {packet.picture_type for packet in packets} >= {"I", "P"}
    assert all(packet.average_qp == {"I": 24, "P": 26}[packet.picture_type] for packet in packets if packet.picture_type != "B")
    assert len(packets[0]) == len(bytes(packets[0])) and repr(packets[0]).startswith("lanner.Packet(")
    assert encoder.finished and encoder.time_base == fractions.Fraction(1001, 30000)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_qp_is_that_of_its_own_picture(codec):
    """With threads libx264 works at several pictures at a time."""
    for options in ({"const_qp": (20, 30, 40), "b_frames": 2, "gop": 6}, {"crf": 25, "slice_mode": "count", "slice_data": 2, "b_frames": 1}):
        if codec == "hevc" and "slice_mode" in options:
            continue
        alone, beside = (encode(make(codec=codec, threads=threads, **options), [gradient(i) for i in range(14)]) for threads in (1, 4))
        assert [packet.picture_type for packet in beside] == [packet.picture_type for packet in alone]
        assert all(packet.average_qp is not None for packet in beside)
        if "const_qp" not in options:
            continue
        for packets in (alone, beside):
            assert {packet.average_qp for packet in packets if packet.key} == {20} and {packet.average_qp for packet in packets if packet.picture_type == "P"} == {30}
            assert all(packet.average_qp > 30 for packet in packets if packet.picture_type == "B")


def test_every_kind_of_picture_gives_the_same_stream():
    planes = luma(90)
    kinds = [planes, planes[None, None], planes.reshape(-1), planes.tobytes(), bytearray(planes), memoryview(planes.reshape(-1)), lanner.Tensor(planes)]
    streams = [b"".join(map(bytes, encode(make(format="NV12", crf=20), [kind] * 3))) for kind in kinds]
    assert len(set(streams)) == 1


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    planes = luma(90)
    numpy, tensors = (b"".join(map(bytes, encode(make(format="NV12", crf=20), [kind] * 3))) for kind in (planes, torch.from_numpy(planes)))
    assert numpy == tensors


def test_rgb_images_and_frames(tmp_path):
    rgb = gradient()
    first = b"".join(map(bytes, encode(make(crf=20), [rgb] * 2)))
    assert b"".join(map(bytes, encode(make(crf=20), [lanner.Image(rgb)] * 2))) == first
    assert b"".join(map(bytes, encode(make(crf=20), [np.asfortranarray(rgb)] * 2))) == first


# Bytes of a pixel.
FORMATS = {"NV12": 1.5, "yv12": 1.5, "IYUV": 1.5, "YUV420P": 1.5, "YUV444": 3, "YUV444_16BIT": 6, "NV16": 2, "P010": 3, "p210": 4,
           "YUV444_10BIT": 6, "ARGB": 4, "ABGR": 4, "ARGB10": 4, "ABGR10": 4}  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_of_each_format_of_the_guide(format):
    size = int(WIDTH * HEIGHT * FORMATS[format])
    encoder = make(format=format)
    encoder.send(bytes(size))
    with pytest.raises(lanner.InvalidArgument, match=f"expected uint8 .*, or the {size} bytes of 96x64"):
        encoder.send(bytes(size - 1))
    assert len(encoder.end()) == 1


@pytest.mark.parametrize("picture", [None, 3, "text", object(), [[1, 2], [3, 4]], {"a": 1}])
def test_what_is_no_picture_is_a_type_error(picture):
    with pytest.raises(TypeError, match="expected an Image, a Frame, bytes") as caught:
        make().send(picture)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(HEIGHT, WIDTH), (HEIGHT, WIDTH, 4), (HEIGHT, WIDTH - 2, 3), (0,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_arrays_that_do_not_fit(shape, dtype):
    array = np.zeros(shape, dtype)
    with pytest.raises(lanner.InvalidArgument, match="96"):
        make().send(array)


def test_requests_of_single_pictures():
    encoder = make(tuning="ultra_low_latency", repeat_headers=False)
    note = (5, b"0123456789abcdef" + b"a note")
    for i in range(6):
        encoder.send(gradient(i), pts=2 * i, force_idr=i == 3, emit_headers=i == 5, sei=[note] if i == 2 else None)
        (packet,) = list(encoder)
        assert packet.pts == 2 * i and packet.key == (i in (0, 3))
        assert (b"a note" in bytes(packet)) == (i == 2)
        assert (b"\0\0\1\x67" in bytes(packet)) == (i in (0, 5))
    with pytest.raises(lanner.InvalidArgument, match="pts 4 after pts 10"):
        encoder.send(gradient(), pts=4)
    with pytest.raises(TypeError, match="sei: .*expected pairs of a type and bytes"):
        encoder.send(gradient(), sei=[5])
    with pytest.raises(lanner.InvalidArgument, match="expected a UUID"):
        encoder.send(gradient(), sei=[(5, b"short")])


def test_reconfigure():
    encoder = make(time_base="1/150", rate_control="cbr", bit_rate=200_000, vbv_buffer_size=50_000, max_width=192, max_height=128)
    assert encoder.reconfigurable == {"rate_control": "cbr", "multipass": "disabled", "bit_rate": 200_000, "max_bit_rate": 0, "vbv_buffer_size": 50_000,
                                      "vbv_initial": 0, "fps": 30, "width": WIDTH, "height": HEIGHT}  # fmt: skip
    encoder.send(gradient())
    encoder.reconfigure(bit_rate=400_000, vbv_buffer_size=100_000)
    encoder.send(gradient())
    assert encoder.restarts == []
    encoder.reconfigure(fps=50)
    encoder.send(gradient())
    encoder.reconfigure(width=192, height=128)
    encoder.send(np.zeros((128, 192, 3), np.uint8))
    assert encoder.restarts == [(8, "frame rate"), (11, "size")]
    assert [packet.pts for packet in encoder.end() if packet.key] == [0, 8, 11]


def test_a_frame_shorter_than_a_tick_needs_a_time():
    encoder = make()
    encoder.send(gradient())
    encoder.reconfigure(fps=50)
    with pytest.raises(lanner.InvalidArgument, match="50/1 frames a second, each shorter than a tick of 1/30 s"):
        encoder.send(gradient())
    encoder.send(gradient(), pts=1)
    encoder.reconfigure(fps=20)
    encoder.send(gradient())
    encoder.send(gradient())
    assert sorted(packet.pts for packet in encoder.end()) == [0, 1, 3, 4]


def test_what_cannot_be_reconfigured():
    encoder = make(bit_rate=200_000)
    with pytest.raises(TypeError, match="unknown option 'gop'"):
        encoder.reconfigure(gop=3)
    with pytest.raises(TypeError, match="bit_rate"):
        encoder.reconfigure(bit_rate="much")
    with pytest.raises(lanner.InvalidArgument, match="expected one of constqp, vbr, cbr"):
        encoder.reconfigure(rate_control="abr")
    with pytest.raises(lanner.InvalidArgument, match="created for 96x64 alone"):
        encoder.reconfigure(width=48)
    with pytest.raises(lanner.Unsupported, match="multipass"):
        encoder.reconfigure(multipass="full_resolution")
    assert encoder.reconfigurable["bit_rate"] == 200_000


def test_options_are_refused_with_what_is_allowed():
    for options, line in [({"crf": 500, "codec": "av1"}, "quality 500, expected 0"), ({"tuning": "fast"}, "tuning 'fast': expected one of high_quality"),
                          ({"level": "9"}, "no level '9'; expected one of 1, 1b"), ({"time_base": "fast"}, "expected a fraction"),
                          ({"content_light": "1"}, "like 1000,400"), ({"mastering_display": "P3"}, "like G"),
                          ({"color_primaries": "bt2010"}, "expected one of bt709"), ({"format": "nv99"}, "pixel format 'nv99'")]:  # fmt: skip
        with pytest.raises(lanner.InvalidArgument, match=line) as caught:
            lanner.Encoder(width=WIDTH, height=HEIGHT, **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(lanner.Unsupported, match="only NVENC"):
        lanner.Encoder(width=WIDTH, height=HEIGHT, initial_qp=20)
    with pytest.raises(TypeError, match="const_qp"):
        lanner.Encoder(width=WIDTH, height=HEIGHT, const_qp="low")
    with pytest.raises(TypeError, match="width is missing"):
        lanner.Encoder(height=HEIGHT)


def test_headers_apart():
    encoder = make(global_header=True)
    packets = encode(encoder, [gradient()])
    assert b"\0\0\1\x67" in encoder.extradata and b"\0\0\1\x67" not in bytes(packets[0])


def test_threads_that_share_an_encoder_get_packets_or_an_error():
    encoder = make(tuning="ultra_low_latency")
    seen = []

    def work():
        for _ in range(8):
            try:
                encoder.send(gradient())
                seen.extend(encoder)
            except lanner.Error as error:
                seen.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen and not any(thread.is_alive() for thread in threads)
