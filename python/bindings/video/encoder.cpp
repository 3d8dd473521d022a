// Packets from pictures.

#include <deque>
#include <memory>
#include <mutex>

#include <lanner/decoder.h>
#include <lanner/encoder.h>
#include <lanner/error.h>
#include <lanner/raw_image.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/option_rows.h"
#include "video/device_planes.h"

namespace lanner::python {
namespace {

constexpr std::string_view expected_picture = "an Image, a Frame, bytes of the encoder's format, or an "
                                              "array: uint8 [height, width, 3], or the planes of "
                                              "the format one below the other";

/// The rows of writers, and those of encoders alone, whose `device` is what writers call `encoder_device`.
const OptionTable<EncoderOptions>& all_rows() {
  static const OptionTable<EncoderOptions> table = [] {
    OptionTable<EncoderOptions> rows = writer_option_table();
    std::erase_if(rows, [](const auto& row) { return row.info.name == "encoder_device"; });
    rows.insert(rows.end(), encoder_option_table().begin(), encoder_option_table().end());
    return rows;
  }();
  return table;
}

std::span<const Keyword> encoder_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(all_rows(), true);
  return keywords;
}

std::span<const Keyword> change_keywords() {
  static const std::vector<Keyword> keywords = {
      Keyword{"rate_control", "str"}.of("constqp, vbr or cbr"),
      Keyword{"multipass", "str"}.of("two encoding passes, as Encoder's multipass"),
      Keyword{"bit_rate", "int"}.of("bits per second"),
      Keyword{"max_bit_rate", "int"}.of("maximum bit rate, in bits per second"),
      Keyword{"vbv_buffer_size", "int"}.of("size of the decoder's buffer, in bits"),
      Keyword{"vbv_initial", "int"}.of("fullness of that buffer when decoding begins, in bits"),
      Keyword{"fps", "float"}.of("frames per second"),
      Keyword{"width", "int"}.of("width in pixels, at most max_width"),
      Keyword{"height", "int"}.of("height in pixels, at most max_height"),
      Keyword{"force_idr", "bool"}.of("the next picture is an IDR"),
  };
  return keywords;
}

/// The names that the row of an option takes.
template<typename Member>
Member named(std::string_view option, nb::handle value, Member EncoderOptions::*member) {
  EncoderOptions options;
  find_option(all_rows(), option)->set(options, nb::cast<std::string>(value));
  return options.*member;
}

EncoderReconfigure to_change(const nb::kwargs& given) {
  EncoderReconfigure change;
  apply_options(given, change_keywords(), [&](const std::string& name, nb::handle value) {
    if (name == "rate_control") change.rate_control = named(name, value, &EncoderOptions::rate_control);
    if (name == "multipass") change.multipass = named(name, value, &EncoderOptions::multipass);
    if (name == "bit_rate") change.bit_rate = nb::cast<std::int64_t>(value);
    if (name == "max_bit_rate") change.max_bit_rate = nb::cast<std::int64_t>(value);
    if (name == "vbv_buffer_size") change.vbv_buffer_size = nb::cast<std::int64_t>(value);
    if (name == "vbv_initial") change.vbv_initial = nb::cast<std::int64_t>(value);
    if (name == "fps") change.rate = parse_frame_rate(nb::cast<double>(value));
    if (name == "width") change.width = nb::cast<std::int32_t>(value);
    if (name == "height") change.height = nb::cast<std::int32_t>(value);
    if (name == "force_idr") change.force_idr = nb::cast<bool>(value);
  });
  return change;
}

bool has_interface(nb::handle object) {
  if (nb::isinstance<Tensor>(object) || PyObject_CheckBuffer(object.ptr())) return true;
  for (const char* name : {"__dlpack__", "__array_interface__", "__cuda_array_interface__"})
    if (nb::hasattr(object, name)) return true;
  return false;
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), tensor.bytes()};
}

/// An image of interleaved RGB in a tensor [height, width, 3] of any device.
Image rgb_in(const Tensor& tensor) {
  if (tensor.device().is_host()) return Image::from_tensor(tensor, PixelFormat::rgb24);
  const auto owner = std::make_shared<const Tensor>(tensor);
  const auto height = static_cast<std::int32_t>(tensor.shape()[0]),
             width = static_cast<std::int32_t>(tensor.shape()[1]);
  Image image = image_from_bytes(bytes_of(*owner), owner, {PixelFormat::rgb24}, width, height);
  image.device = tensor.device();
  return image;
}

/// What lies in a tensor: RGB, or all planes of the format. It stays on `device`, where the encoder is.
Image picture_in(const Tensor& given, const RawFormat& format, std::int32_t width, std::int32_t height,
                 Device device) {
  // Words of 10 bits are unpacked on the host.
  const bool words_of_10 = format.order == RawOrder::argb10 || format.order == RawOrder::abgr10;
  Tensor tensor = given.device() == device && !words_of_10 ? given : given.to(Device{});
  if (!tensor.layout().row_major()) tensor = tensor.clone();
  const Shape& shape = tensor.shape();
  const std::size_t rank = shape.rank();
  if (tensor.dtype() == DType::u8 && rank == 3 && shape[2] == 3) return rgb_in(tensor);
  const PixelFormatInfo& facts = format_info(format.format);
  const bool words = facts.bytes_per_sample == 2 && format.order == RawOrder::planes;
  const bool numbers = tensor.dtype() == DType::u8 || (words && tensor.dtype() == DType::u16) ||
                       (format.order != RawOrder::planes && tensor.dtype() == DType::u32);
  const std::int64_t expected = raw_bytes(format, width, height);
  check(numbers && static_cast<std::int64_t>(tensor.bytes()) == expected && rank >= 1,
        ErrorCode::invalid_argument,
        "Encoder: an array {} of {}, expected uint8 [{}, {}, 3], or the {} bytes of {}x{} {}{}",
        shape.to_string(), to_string(tensor.dtype()), height, width, expected, width, height, facts.name,
        words ? ", as uint8 or uint16" : "");
  const auto owner = std::make_shared<const Tensor>(tensor);
  Image image = image_from_bytes(bytes_of(*owner), owner, format, width, height);
  image.device = tensor.device();
  return image;
}

nb::bytes to_bytes(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

/// (type, payload) of each message.
std::vector<SeiMessage> to_messages(nb::handle given) {
  std::vector<SeiMessage> messages;
  if (given.is_none()) return messages;
  with_option_named(
      "sei", given,
      [&] {
        for (nb::handle one : nb::iter(given)) {
          const auto [type, payload] = nb::cast<std::pair<int, nb::bytes>>(one);
          const auto* data = reinterpret_cast<const std::byte*>(payload.c_str());
          messages.push_back({type, {data, data + payload.size()}});
        }
      },
      "pairs of a type and bytes, like [(5, b'...')]");
  return messages;
}

/// An Encoder as Python has it: packets that come while a picture waits for room are kept.
class PyEncoder {
public:
  PyEncoder(const EncoderOptions& options, const RawFormat& format)
      : encoder_(create_encoder(options)), format_(format), device_(options.device), stream_(options.stream) {
  }

  void send(nb::handle picture, std::optional<std::int64_t> pts, const PictureRequest& request) {
    const Image image = to_picture(picture);
    const ReleasedGil release;
    const std::lock_guard lock(mutex_);
    while (!encoder_->send(&image, pts.value_or(no_pts), request)) keep();
  }
  std::optional<Packet> receive() {
    const ReleasedGil release;
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) return encoder_->receive();
    Packet packet = std::move(kept_.front());
    kept_.pop_front();
    return packet;
  }
  std::vector<Packet> end() {
    const ReleasedGil release;
    const std::lock_guard lock(mutex_);
    while (!encoder_->send(nullptr)) keep();
    while (!encoder_->finished()) keep();
    std::vector<Packet> packets(kept_.begin(), kept_.end());
    kept_.clear();
    return packets;
  }
  void reconfigure(const EncoderReconfigure& change) {
    const ReleasedGil release;
    const std::lock_guard lock(mutex_);
    encoder_->reconfigure(change);
  }
  const Encoder& encoder() const { return *encoder_; }

private:
  void keep() {
    while (auto packet = encoder_->receive()) kept_.push_back(std::move(*packet));
  }
  Image to_picture(nb::handle object) const {
    if (nb::isinstance<Image>(object)) return where_it_is_taken(nb::cast<Image>(object));
    if (nb::isinstance<Frame>(object)) return picture_of(nb::cast<const Frame&>(object));
    const EncoderReconfigure size = encoder_->reconfigurable();
    if (!device_.is_host() && !nb::hasattr(object, "__dlpack__") && has_cuda_planes(object))
      return picture_of_planes(object, format_, size.width, size.height, device_, stream_);
    if (object.is_none() || !has_interface(object))
      refuse("picture", object, "is of the wrong type", expected_picture);
    if (nb::isinstance<nb::bytes>(object) || PyByteArray_Check(object.ptr()) ||
        PyMemoryView_Check(object.ptr())) {
      const nb::object array = nb::module_::import_("numpy").attr("frombuffer")(object, "uint8");
      return picture_in(to_tensor(array), format_, size.width, size.height, device_);
    }
    const auto stream = reinterpret_cast<std::uintptr_t>(stream_.handle);
    return picture_in(to_tensor(object, stream), format_, size.width, size.height, device_);
  }
  /// On the host, or on the GPU that encodes.
  Image where_it_is_taken(const Image& image) const {
    return image.device == device_ ? image : on_host(image);
  }
  Image picture_of(const Frame& frame) const {
    if (frame.stream.handle && frame.stream.handle != stream_.handle)
      wait_for(frame.image.device, frame.stream);
    return where_it_is_taken(frame.image);
  }

  std::mutex mutex_; ///< Of `kept_`; the encoder itself tells of calls at the same time.
  std::unique_ptr<Encoder> encoder_;
  RawFormat format_;
  Device device_; ///< Where it encodes.
  Stream stream_; ///< Of the caller's, where that is a GPU.
  std::deque<Packet> kept_;
};

nb::dict state_of(const PyEncoder& self) {
  const EncoderReconfigure state = self.encoder().reconfigurable();
  nb::dict told;
  const auto name = [](std::string_view text) { return nb::str(text.data(), text.size()); };
  told["rate_control"] = state.rate_control == RateControl::unspecified
                             ? nb::none()
                             : nb::object(name(to_string(state.rate_control)));
  told["multipass"] =
      name(state.multipass == Multipass::unspecified ? "disabled" : to_string(state.multipass));
  told["bit_rate"] = state.bit_rate;
  told["max_bit_rate"] = state.max_bit_rate;
  told["vbv_buffer_size"] = state.vbv_buffer_size;
  told["vbv_initial"] = state.vbv_initial;
  told["fps"] = fraction(state.rate);
  told["width"] = state.width;
  told["height"] = state.height;
  return told;
}

void register_sending(nb::class_<PyEncoder>& encoder) {
  encoder
      .def(
          "send",
          [](PyEncoder& self, nb::handle picture, std::optional<std::int64_t> pts, bool force_idr,
             bool emit_headers, nb::handle sei) {
            self.send(picture, pts, {force_idr, emit_headers, to_messages(sei)});
          },
          nb::arg("picture").none(), nb::kw_only(), nb::arg("pts") = nb::none(), nb::arg("force_idr") = false,
          nb::arg("emit_headers") = false, nb::arg("sei") = nb::none(),
          nb::sig("def send(self, picture: object, *, pts: int | None = None, force_idr: bool = False, "
                  "emit_headers: bool = False, sei: collections.abc.Iterable[tuple[int, bytes]] | None = "
                  "None) -> None"),
          "Encodes a picture; receive() then returns the packets that are ready. A picture in the memory of "
          "the "
          "GPU that encodes is read there; any other is copied to the host.\n\npicture: an Image or a "
          "Frame of any "
          "pixel format; an array (NumPy, torch, anything with DLPack or an array interface): uint8 RGB "
          "[height, width, "
          "3], or all planes of the encoder's format one below the other, as [rows, width], [1, 1, rows, "
          "width] or one "
          "dimension; or bytes of that format; for an encoder on a GPU also an object with a CUDA array "
          "interface, or a list of such, one for each plane\npts: time in ticks of the time base, which must "
          "increase; default: one frame after the last one by the fps that holds now, which must be at least "
          "a "
          "tick\nforce_idr: make it an IDR, at which decoding can "
          "begin\nemit_headers: write the parameter sets before it\nsei: its SEI messages (for AV1 metadata "
          "OBUs), each a type and a payload")
      .def("receive", &PyEncoder::receive, nb::sig("def receive(self) -> Packet | None"),
           "The next packet; None if none is ready.")
      .def(
          "__iter__",
          [](PyEncoder& self) {
            nb::list ready;
            while (auto packet = self.receive()) ready.append(nb::cast(std::move(*packet)));
            return nb::object(nb::iter(ready));
          },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Packet]"), "The packets that are ready.")
      .def("end", &PyEncoder::end, nb::sig("def end(self) -> list[Packet]"),
           "Ends the stream and returns the packets that are left. Nothing can be sent after it.");
}

void register_stream_facts(nb::class_<PyEncoder>& encoder) {
  encoder
      .def_prop_ro(
          "stream", [](const PyEncoder& self) { return self.encoder().stream(); },
          "What the packets are, for Muxer.add_stream() and Decoder.")
      .def_prop_ro(
          "extradata", [](const PyEncoder& self) { return to_bytes(self.encoder().stream().extradata); },
          "Headers that lie apart, with global_header; else empty.")
      .def_prop_ro(
          "time_base", [](const PyEncoder& self) { return fraction(self.encoder().stream().time_base); },
          "Seconds of one tick, as a Fraction.")
      .def_prop_ro(
          "finished", [](const PyEncoder& self) { return self.encoder().finished(); },
          "Whether end() was called and gave all packets.");
}

void register_encoder_class(nb::module_& module) {
  nb::class_<PyEncoder> encoder(
      module, "Encoder",
      "Encodes images into packets, without a file; docs/writing-video.md. One thread at "
      "a time.");
  encoder.def(
      "__init__",
      [](PyEncoder* self, const nb::args& others, const nb::kwargs& keywords) {
        check_named("Encoder", others, "width=640");
        EncoderOptions options;
        take_keywords("Encoder", keywords, encoder_keywords(), all_rows(), options);
        RawFormat format{options.format};
        if (keywords.contains("format") && !nb::object(keywords["format"]).is_none())
          format = parse_raw_format(nb::cast<std::string>(keywords["format"]));
        ReleasedGil release;
        new (self) PyEncoder(options, format);
      },
      nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def __init__(self", encoder_keywords(), "None").c_str()),
      ("Opens the encoder. An option that it does not support is an error that says why.\n\n" +
       keyword_docs(encoder_keywords()))
          .c_str());
  register_sending(encoder);
  encoder
      .def(
          "reconfigure",
          [](PyEncoder& self, const nb::args& others, const nb::kwargs& keywords) {
            check_named("reconfigure", others, "bit_rate=1000000");
            self.reconfigure(to_change(keywords));
          },
          nb::arg("others"), nb::arg("options"),
          nb::sig(signature("def reconfigure(self", change_keywords(), "None").c_str()),
          ("Changes settings while encoding, from the next picture on. NVENC changes all but the size while "
           "it "
           "runs, if its GPU can, libx264 bit rate and VBV; other changes restart the encoder at an IDR, "
           "which "
           "`restarts` lists.\n\n" +
           keyword_docs(change_keywords()))
              .c_str())
      .def_prop_ro("reconfigurable", &state_of, nb::sig("def reconfigurable(self) -> dict[str, object]"),
                   "The settings that reconfigure() takes, with their current values.")
      .def_prop_ro(
          "restarts",
          [](const PyEncoder& self) {
            nb::list list;
            for (const EncoderRestart& restart : self.encoder().restarts())
              list.append(nb::make_tuple(restart.pts, nb::str(restart.reason.c_str())));
            return list;
          },
          nb::sig("def restarts(self) -> list[tuple[int, str]]"),
          "Where the encoder started anew: pts of the IDR, and why.");
  register_stream_facts(encoder);
}

void register_capabilities(nb::module_& module) {
  using Capability = EncoderCapability;
  nb::class_<Capability>(module, "EncoderCapability", "What the NVENC of a GPU can do with one codec.")
      .def_ro("codec", &Capability::codec, "`h264`, `hevc`, `av1`.")
      .def_ro("supported", &Capability::supported, "Whether the GPU encodes it.")
      .def_prop_ro(
          "values",
          [](const Capability& self) {
            nb::dict values;
            for (const auto& [name, value] : self.values) values[name.c_str()] = value;
            return values;
          },
          nb::sig("def values(self) -> dict[str, int]"),
          "By the names of NV_ENC_CAPS without their prefix, in small letters, like `width_max`; empty where "
          "it is not encoded.")
      .def("__repr__", [](const Capability& self) {
        return fmt::format("lanner.EncoderCapability({}, {})", self.codec,
                           self.supported ? "encoded" : "not encoded");
      });
  module.def(
      "encoder_capabilities",
      [](const std::string& device) {
        const Device gpu = Device::parse(device);
        const ReleasedGil released;
        return encoder_capabilities(gpu);
      },
      nb::arg("device") = "cuda:0",
      "What a GPU's NVENC does: an entry for each codec that Lanner knows. Raises Unsupported, with the "
      "reason, where there is no GPU or no NVENC.\n\ndevice: the GPU");
}

} // namespace

void register_encoder(nb::module_& module) {
  register_encoder_class(module);
  register_capabilities(module);
}

} // namespace lanner::python
