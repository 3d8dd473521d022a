// Packets, and what a container says of the stream that they belong to.

#include <cmath>

#include <lanner/error.h>
#include <lanner/packet.h>

#include "calls/check.h"
#include "video/packets.h"

namespace lanner::python {
namespace {

/// What is said of a packet beside its bytes.
struct PacketFacts {
  int stream = 0;
  std::optional<std::int64_t> pts, dts;
  std::int64_t duration = 0, pos = -1;
  bool key = false, discard = false, discontinuity = false, corrupt = false;
};

/// The bytes of an object of Python's, which the result keeps.
void take_bytes(nb::handle object, Packet& packet) {
  auto view = std::shared_ptr<Py_buffer>(new Py_buffer{}, [](Py_buffer* buffer) {
    const HeldGil gil;
    if (!gil) return;
    PyBuffer_Release(buffer);
    delete buffer;
  });
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    refuse("data", object, "is of the wrong type", "bytes, or what has contiguous memory");
  }
  packet.bytes = {static_cast<const std::byte*>(view->buf), static_cast<std::size_t>(view->len)};
  packet.owner = std::move(view);
}

void make_packet(Packet* self, nb::handle data, const PacketFacts& facts) {
  check(facts.stream >= 0, ErrorCode::invalid_argument, "stream: {}, expected the number of a stream from 0",
        facts.stream);
  check(facts.duration >= 0, ErrorCode::invalid_argument, "duration: {} ticks, expected 0 or more",
        facts.duration);
  Packet packet;
  take_bytes(data, packet);
  packet.stream = facts.stream;
  packet.pts = ticks_of(facts.pts), packet.dts = ticks_of(facts.dts);
  packet.duration = facts.duration, packet.pos = facts.pos;
  packet.key = facts.key, packet.discard = facts.discard;
  packet.discontinuity = facts.discontinuity, packet.corrupt = facts.corrupt;
  new (self) Packet(std::move(packet));
}

const std::byte* data_of(const Packet& self) {
  static const std::byte none{};
  return self.bytes.empty() ? &none : self.bytes.data();
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Packet& packet = *nb::inst_ptr<Packet>(self);
  void* data = const_cast<std::byte*>(data_of(packet));
  return PyBuffer_FillInfo(view, self, data, static_cast<Py_ssize_t>(packet.bytes.size()), 1, flags);
}

std::string describe(const Packet& self) {
  const auto time = [](std::int64_t ticks) {
    return ticks == no_pts ? std::string("none") : fmt::format("{}", ticks);
  };
  return fmt::format("lanner.Packet(stream {}, {} bytes, pts {}, dts {}{}{}{})", self.stream,
                     self.bytes.size(), time(self.pts), time(self.dts), self.key ? ", key" : "",
                     self.discard ? ", discard" : "", self.corrupt ? ", corrupt" : "");
}

void register_bytes(nb::class_<Packet>& packet) {
  packet
      .def_prop_ro(
          "data", [](nb::handle self) { return nb::steal(PyMemoryView_FromObject(self.ptr())); },
          nb::sig("def data(self) -> memoryview"),
          "The compressed bytes, read-only and without a copy; `bytes(packet)` copies them.")
      .def_prop_ro(
          "ptr", [](const Packet& self) { return reinterpret_cast<std::uintptr_t>(data_of(self)); },
          "Address of the first byte, valid as long as the packet.")
      .def("__len__", [](const Packet& self) { return self.bytes.size(); })
      .def("__repr__", &describe);
}

void register_facts_of_packet(nb::class_<Packet>& packet) {
  packet.def_ro("stream", &Packet::stream, "Number of the stream in the container.")
      .def_prop_ro(
          "pts", [](const Packet& self) { return time_of(self.pts); }, nb::sig("def pts(self) -> int | None"),
          "Presentation time in ticks of the stream's time_base; None if unknown.")
      .def_prop_ro(
          "dts", [](const Packet& self) { return time_of(self.dts); }, nb::sig("def dts(self) -> int | None"),
          "Decoding time in ticks of the stream's time_base; None if unknown.")
      .def_ro("duration", &Packet::duration, "In ticks of the stream's time_base; 0 if unknown.")
      .def_ro("pos", &Packet::pos, "Position in the file in bytes; -1 if unknown.")
      .def_ro("key", &Packet::key, "Whether the container calls it a keyframe.")
      .def_ro("discard", &Packet::discard, "Whether it is decoded but not shown, according to an edit list.")
      .def_ro("discontinuity", &Packet::discontinuity, "Whether times or bytes jump before it.")
      .def_ro("corrupt", &Packet::corrupt, "Whether the container knows that bytes are missing.")
      .def_prop_ro(
          "picture_type",
          [](const Packet& self) {
            const std::string_view name = to_string(self.picture_type);
            return nb::str(name.data(), name.size());
          },
          "`I`, `P` or `B`, for packets of an encoder; empty if the encoder does not report it.")
      .def_prop_ro(
          "average_qp",
          [](const Packet& self) {
            return self.average_qp < 0 ? nb::none() : nb::object(nb::float_(self.average_qp));
          },
          nb::sig("def average_qp(self) -> float | None"),
          "Mean quantisation parameter of the picture, in the codec's scale; None if unknown.");
}

ColorInfo color_of(const StreamInfo& self) {
  return self.color;
}

/// How a stream is shown, where the packets do not say it.
struct Shape {
  nb::handle average_rate, sample_aspect;
  double rotation = 0;
  bool mirror = false;
};

void take_shape(const Shape& shape, StreamInfo& info) {
  const auto positive = [](std::string_view name, nb::handle given) {
    const Rational value = to_rational(name, given);
    check(value.num > 0 && value.num <= INT32_MAX && value.den <= INT32_MAX, ErrorCode::invalid_argument,
          "{}: {}/{}, expected more than 0, in numbers of 31 bits", name, value.num, value.den);
    return value;
  };
  if (!shape.average_rate.is_none()) info.average_rate = positive("average_rate", shape.average_rate);
  if (!shape.sample_aspect.is_none()) info.sample_aspect = positive("sample_aspect", shape.sample_aspect);
  check(std::abs(shape.rotation) <= 360, ErrorCode::invalid_argument,
        "rotation: {:g} degrees, expected -360 to 360", shape.rotation);
  info.rotation = shape.rotation, info.mirror = shape.mirror;
}

void make_stream(StreamInfo* self, const std::string& codec, std::int32_t width, std::int32_t height,
                 const std::string& format, nb::handle time_base, nb::handle extradata, const Shape& shape) {
  check(!codec.empty(), ErrorCode::invalid_argument, "codec: '' is no name, expected one like h264");
  check(width >= 0 && height >= 0, ErrorCode::invalid_argument,
        "width, height: {}x{}, expected pixels, or 0 where they are not known", width, height);
  StreamInfo info;
  info.kind = "video";
  info.codec = codec;
  info.width = width, info.height = height;
  info.format = parse_pixel_format(format);
  info.native_format = format;
  info.bit_depth = format_info(info.format).bits;
  if (!time_base.is_none()) info.time_base = to_rational("time_base", time_base);
  take_shape(shape, info);
  if (!extradata.is_none()) {
    Packet bytes;
    take_bytes(extradata, bytes);
    info.extradata.assign(bytes.bytes.begin(), bytes.bytes.end());
  }
  new (self) StreamInfo(std::move(info));
}

void register_making(nb::class_<StreamInfo>& stream) {
  stream.def(
      "__init__",
      [](StreamInfo* self, const std::string& codec, std::int32_t width, std::int32_t height,
         const std::string& format, nb::handle time_base, nb::handle extradata, nb::handle average_rate,
         nb::handle sample_aspect, double rotation, bool mirror) {
        make_stream(self, codec, width, height, format, time_base, extradata,
                    {average_rate, sample_aspect, rotation, mirror});
      },
      nb::arg("codec"), nb::kw_only(), nb::arg("width") = 0, nb::arg("height") = 0,
      nb::arg("format") = "yuv420p", nb::arg("time_base") = nb::none(), nb::arg("extradata") = nb::none(),
      nb::arg("average_rate") = nb::none(), nb::arg("sample_aspect") = nb::none(), nb::arg("rotation") = 0.0,
      nb::arg("mirror") = false,
      nb::sig("def __init__(self, codec: str, *, width: int = 0, height: int = 0, format: str = "
              "'yuv420p', time_base: fractions.Fraction | None = None, extradata: bytes | bytearray | "
              "memoryview | None = None, average_rate: fractions.Fraction | None = None, "
              "sample_aspect: fractions.Fraction | None = None, rotation: float = 0.0, mirror: "
              "bool = False) -> None"),
      "Describes a video stream whose packets do not come from a Demuxer.\n\ncodec: FFmpeg's name, such as "
      "h264\nwidth: coded width in pixels; 0: as in the stream\nheight: coded height in pixels; 0: "
      "the stream says it\nformat: pixel format, if the stream does not determine it\ntime_base: seconds "
      "of one tick of its packets' times\nextradata: parameter sets that are not in the packets, "
      "in FFmpeg's form; None: they are in the packets\naverage_rate: frames per second, for "
      "containers "
      "that tell it; None: not known\nsample_aspect: width of a pixel divided by its height; None: "
      "square\nrotation: degrees clockwise by which players rotate frames, for a Muxer\nmirror: whether "
      "they mirror frames left to right before that");
}

} // namespace

std::optional<std::int64_t> time_of(std::int64_t ticks) noexcept {
  return ticks == no_pts ? std::nullopt : std::optional(ticks);
}

std::int64_t ticks_of(std::optional<std::int64_t> time) noexcept {
  return time.value_or(no_pts);
}

Rational to_rational(std::string_view name, nb::handle value) {
  return with_option_named(
      name, value,
      [&] {
        const nb::object exact = nb::module_::import_("fractions").attr("Fraction")(value);
        return Rational{nb::cast<std::int64_t>(exact.attr("numerator")),
                        nb::cast<std::int64_t>(exact.attr("denominator"))};
      },
      "a Fraction");
}

void register_description(nb::class_<StreamInfo>& stream) {
  register_making(stream);
  stream
      .def_prop_ro(
          "start_pts", [](const StreamInfo& self) { return time_of(self.start_pts); },
          nb::sig("def start_pts(self) -> int | None"),
          "Time of the first packet in ticks of time_base, from the container; None if it does not say.")
      .def_ro("duration", &StreamInfo::duration,
              "Length in ticks of time_base, from the container; 0 if it does not say.")
      .def_prop_ro(
          "sample_aspect", [](const StreamInfo& self) { return fraction(self.sample_aspect); },
          nb::sig("def sample_aspect(self) -> fractions.Fraction"),
          "Width of a pixel divided by its height; 1 for square pixels.")
      .def_prop_ro(
          "color_space", [](const StreamInfo& self) { return std::string(to_string(color_of(self).matrix)); },
          "Matrix between YUV and RGB, such as `bt709`.")
      .def_prop_ro(
          "color_range", [](const StreamInfo& self) { return std::string(to_string(color_of(self).range)); },
          "`full`, `limited` or `unspecified`.")
      .def_prop_ro(
          "color_primaries",
          [](const StreamInfo& self) { return std::string(primaries_name(color_of(self).primaries)); },
          "Chromaticities of the primaries, by FFmpeg's name, such as `bt709`, `bt2020`.")
      .def_prop_ro(
          "color_transfer",
          [](const StreamInfo& self) { return std::string(transfer_name(color_of(self).transfer)); },
          "Transfer characteristic, by FFmpeg's name, such as `bt709`, `smpte2084` (PQ), `arib-std-b67` "
          "(HLG).")
      .def_prop_ro(
          "extradata",
          [](const StreamInfo& self) { return nb::bytes(self.extradata.data(), self.extradata.size()); },
          "Codec headers that are needed before the first packet, in FFmpeg's form; empty if they are in the "
          "packets.")
      .def_prop_ro(
          "metadata",
          [](const StreamInfo& self) {
            nb::dict metadata;
            for (const auto& [key, value] : self.metadata) metadata[text_of(key)] = text_of(value);
            return metadata;
          },
          nb::sig("def metadata(self) -> dict[str, str]"), "Metadata of the stream, like its language.");
}

void register_packet(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)}, {0, nullptr}};
  nb::class_<Packet> packet(module, "Packet", nb::type_slots(slots),
                            "A piece of a compressed stream. It has the buffer protocol: `bytes(packet)`, "
                            "`memoryview(packet)`. Threads may share one.");
  packet.def(
      "__init__",
      [](Packet* self, nb::handle data, int stream, std::optional<std::int64_t> pts,
         std::optional<std::int64_t> dts, std::int64_t duration, std::int64_t pos, bool key, bool discard,
         bool discontinuity, bool corrupt) {
        make_packet(self, data, {stream, pts, dts, duration, pos, key, discard, discontinuity, corrupt});
      },
      nb::arg("data").none(), nb::kw_only(), nb::arg("stream") = 0, nb::arg("pts") = nb::none(),
      nb::arg("dts") = nb::none(), nb::arg("duration") = 0, nb::arg("pos") = -1, nb::arg("key") = false,
      nb::arg("discard") = false, nb::arg("discontinuity") = false, nb::arg("corrupt") = false,
      nb::sig(
          "def __init__(self, data: bytes | bytearray | memoryview | Packet, *, stream: int = 0, pts: int | "
          "None = None, dts: int | None = None, duration: int = 0, pos: int = -1, key: bool = False, "
          "discard: bool = False, discontinuity: bool = False, corrupt: bool = False) -> None"),
      "Wraps given bytes, or those of another packet with other times.\n\ndata: compressed bytes, in an "
      "object with the buffer protocol, whose memory is shared: do not change it while the packet "
      "exists\nstream: number of the stream\npts: "
      "presentation time in ticks of the stream's time_base\ndts: decoding time in the same ticks\nduration: "
      "in the same ticks; 0: unknown\npos: position in the file in bytes; -1: unknown\nkey: whether it "
      "is a keyframe\ndiscard: decode it, but do not show it\ndiscontinuity: whether times jump before "
      "it\ncorrupt: whether bytes of it are missing");
  register_bytes(packet);
  register_facts_of_packet(packet);
}

} // namespace lanner::python
