// Packets in, frames out.

#include <algorithm>
#include <iterator>

#include <lanner/decoder.h>
#include <lanner/error.h>
#include <lanner/option_table.h>

#include "calls/check.h"
#include "calls/keywords.h"
#include "calls/option_rows.h"
#include "video/packets.h"
#include "video/sole_object.h"

namespace lanner::python {
namespace {

using StreamDecoder = SoleObject<Decoder>;

/// Those of a VideoReader that are about decoding.
std::span<const Keyword> decoder_keywords() {
  static const std::vector<Keyword> keywords =
      keywords_of(reader_option_table(), false,
                  {"stream", "decoders", "prefetch", "rotate", "format", "preprocess", "frame_bytes",
                   "cache_index", "index"});
  return keywords;
}

void make_decoder(StreamDecoder* self, const StreamInfo& stream, const nb::args& others,
                  const nb::kwargs& keywords) {
  check_named("Decoder", others, "device=\"cpu\"");
  VideoReaderOptions options;
  take_keywords("Decoder", keywords, decoder_keywords(), reader_option_table(), options);
  const ReleasedGil released;
  new (self) StreamDecoder(create_decoder(stream, options.decoder), "Decoder", "it was closed");
}

std::vector<Frame> received(Decoder& decoder) {
  std::vector<Frame> frames;
  while (std::optional<Frame> frame = decoder.receive()) frames.push_back(std::move(*frame));
  return frames;
}

std::vector<Frame> decode(StreamDecoder& self, const Packet* packet) {
  std::vector<Frame> frames = self.with([&](Decoder& decoder) {
    std::vector<Frame> before;
    while (!decoder.send(packet)) {
      std::vector<Frame> more = received(decoder);
      check(!more.empty(), ErrorCode::internal, "Decoder: it takes no packet and has no frame");
      std::ranges::move(more, std::back_inserter(before));
    }
    std::ranges::move(received(decoder), std::back_inserter(before));
    return before;
  });
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  return frames;
}

void register_work(nb::class_<StreamDecoder>& decoder) {
  decoder
      .def("decode", &decode, nb::arg("packet").none(),
           "Takes a packet and returns the frames that are ready, none or several.\n\npacket: a packet a "
           "packet of the stream; None: the stream ends, and the frames that are left are returned")
      .def(
          "send",
          [](StreamDecoder& self, const Packet* packet) {
            return self.with([&](Decoder& decoder) { return decoder.send(packet); });
          },
          nb::arg("packet").none(),
          "Takes one packet. Returns False if it was not taken: call receive() first, then send it "
          "again.\n\npacket: a packet of the stream; None: the stream ends")
      .def(
          "receive",
          [](StreamDecoder& self) { return self.with([](Decoder& decoder) { return decoder.receive(); }); },
          nb::sig("def receive(self) -> Frame | None"),
          "The next frame in presentation order; None if a packet is needed first, or if the end was sent "
          "and no frame is left.")
      .def(
          "flush", [](StreamDecoder& self) { self.with([](Decoder& decoder) { decoder.flush(); }); },
          "Drops what was sent: after a seek, or to continue after the end.")
      .def(
          "reset",
          [](StreamDecoder& self, const StreamInfo& stream) {
            self.with([&](Decoder& decoder) { decoder.reset(stream); });
          },
          nb::arg("stream"),
          "Switches to another stream, which may differ in everything, on the same device. Raises as the "
          "constructor does; the decoder can then be reset again.\n\nstream: the new stream");
}

void register_state(nb::class_<StreamDecoder>& decoder) {
  decoder
      .def_prop_ro(
          "finished",
          [](StreamDecoder& self) { return self.with([](Decoder& decoder) { return decoder.finished(); }); },
          "Whether the end was sent and the last frame returned.")
      .def_prop_ro(
          "device",
          [](StreamDecoder& self) {
            return self.with([](Decoder& decoder) { return decoder.device().to_string(); });
          },
          "Where it decodes: `cpu`, `cuda:0`.")
      .def_prop_ro(
          "description",
          [](StreamDecoder& self) {
            return self.with([](Decoder& decoder) { return decoder.description(); });
          },
          "The decoder: `ffmpeg h264, 2 threads`, `nvdec h264 on cuda:0`.")
      .def_prop_ro(
          "reason",
          [](StreamDecoder& self) { return self.with([](Decoder& decoder) { return decoder.reason(); }); },
          "Why this decoder was chosen.")
      .def("__repr__", [](StreamDecoder& self) {
        return fmt::format("lanner.Decoder({})",
                           self.with([](Decoder& decoder) { return decoder.description(); }));
      });
}

void register_capabilities(nb::module_& module) {
  using Capability = DecoderCapability;
  nb::class_<Capability>(module, "DecoderCapability", "One kind of stream that a GPU may decode.")
      .def_ro("codec", &Capability::codec, "FFmpeg's name, such as `h264`.")
      .def_ro("chroma", &Capability::chroma, "Chroma subsampling: `4:0:0`, `4:2:0`, `4:2:2`, `4:4:4`.")
      .def_ro("bit_depth", &Capability::bit_depth, "Bits of a sample.")
      .def_ro("supported", &Capability::supported, "Whether the GPU decodes it.")
      .def_ro("engines", &Capability::engines, "Decoding engines that support it.")
      .def_ro("min_width", &Capability::min_width, "Smallest coded width in pixels.")
      .def_ro("min_height", &Capability::min_height, "Smallest coded height in pixels.")
      .def_ro("max_width", &Capability::max_width, "Largest coded width in pixels.")
      .def_ro("max_height", &Capability::max_height, "Largest coded height in pixels.")
      .def_ro("max_macroblocks", &Capability::max_macroblocks, "Largest width x height / 256.")
      .def("__repr__", [](const Capability& self) {
        return fmt::format("lanner.DecoderCapability({} {} {} bit, {})", self.codec, self.chroma,
                           self.bit_depth,
                           self.supported ? fmt::format("{} engines, up to {}x{}", self.engines,
                                                        self.max_width, self.max_height)
                                          : "not decoded");
      });
  module.def(
      "decoder_capabilities",
      [](const std::string& device) {
        const Device gpu = Device::parse(device);
        const ReleasedGil released;
        return decoder_capabilities(gpu);
      },
      nb::arg("device") = "cuda:0",
      "What a GPU can decode: an entry for each codec, chroma subsampling and bit depth that Lanner knows. "
      "Raises Unsupported, with the reason, if there is no GPU or no decoder.\n\ndevice: the GPU");
}

} // namespace

void register_decoder(nb::module_& module) {
  nb::class_<StreamDecoder> decoder(
      module, "Decoder",
      "Decodes the packets of one stream into frames in presentation order, on a CPU or a GPU. The size may "
      "change within the stream: each frame has its own. After an error decoding continues at the next "
      "keyframe. For one thread at a time: two calls at once raise InvalidArgument.");
  decoder.def("__init__", &make_decoder, nb::arg("stream"), nb::arg("others"), nb::arg("options"),
              nb::sig(signature("def __init__(self, stream: StreamInfo", decoder_keywords(), "None").c_str()),
              ("Raises Unsupported for an unknown codec or a missing device.\n\nstream: the stream, as in "
               "Demuxer.streams\n" +
               keyword_docs(decoder_keywords()))
                  .c_str());
  register_work(decoder);
  register_state(decoder);
  register_capabilities(module);
}

} // namespace lanner::python
