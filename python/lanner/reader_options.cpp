#include "reader_options.h"

#include <array>

#include "check.h"

namespace lanner::python {
namespace {

std::optional<Device> device_or_auto(const std::string& text) {
  return text == "auto" ? std::nullopt : std::optional(Device::parse(text));
}

Latency to_latency(const std::string& text) {
  check(text == "low" || text == "normal", ErrorCode::invalid_argument,
        "latency: '{}' is not one of normal, low", text);
  return text == "low" ? Latency::low : Latency::normal;
}

/// One keyword of a reader; false when there is none of that name.
bool apply_decoder(DecoderOptions& options, const std::string& name, nb::handle value) {
  if (name == "threads")
    options.threads = nb::cast<int>(value);
  else if (name == "device")
    options.device = device_or_auto(nb::cast<std::string>(value));
  else if (name == "output")
    options.output = Device::parse(nb::cast<std::string>(value));
  else if (name == "cuda_context")
    options.context = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(value));
  else if (name == "cuda_stream")
    options.stream.handle = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(value));
  else if (name == "latency")
    options.latency = to_latency(nb::cast<std::string>(value));
  else if (name == "sei")
    options.sei = nb::cast<bool>(value);
  else if (name == "raise_on_error")
    options.raise_on_error = nb::cast<bool>(value);
  else
    return false;
  return true;
}

bool apply_reader(VideoReaderOptions& options, const std::string& name, nb::handle value) {
  if (name == "stream")
    options.stream = nb::cast<int>(value);
  else if (name == "decoders")
    options.decoders = nb::cast<int>(value);
  else if (name == "prefetch")
    options.prefetch = nb::cast<int>(value);
  else if (name == "frame_bytes")
    options.frame_bytes = nb::cast<std::uint64_t>(value);
  else if (name == "rotate")
    options.rotate = nb::cast<bool>(value);
  else if (name == "format")
    options.format = parse_pixel_format(nb::cast<std::string>(value));
  else if (name == "preprocess")
    options.preprocess = nb::cast<Preprocess>(value);
  else if (name == "limits")
    options.demuxer.limits = options.decoder.limits = to_limits(value);
  else if (name == "cache_index")
    options.cache_index = nb::cast<bool>(value);
  else if (name == "index")
    options.index = nb::cast<std::shared_ptr<StreamIndex>>(value);
  else
    return apply_decoder(options.decoder, name, value);
  return true;
}

constexpr std::array keywords_of_readers{
    Keyword{"stream", "int"}.of("number of the stream; default the best one for a player"),
    Keyword{"threads", "int"}.of("of each codec; default as many as keep the cores busy"),
    Keyword{"device", "str"}.of("\"cpu\", \"cuda:0\", or \"auto\": a GPU that can decode it, else the CPU; "
                                "default \"cpu\""),
    Keyword{"output", "str"}.of("device that frames lie on; default where they are decoded"),
    Keyword{"decoders", "int"}.of("at work side by side; default by cores, engines and GOPs"),
    Keyword{"prefetch", "int"}.of("frames that are kept ready ahead of an iteration; default 0"),
    Keyword{"rotate", "bool"}.of("turn pictures that are stored turned, as players do; default True"),
    Keyword{"format", "str"}.of("pixel format to convert to, like \"rgb24\"; default the decoder's own"),
    Keyword{"preprocess", "Preprocess"}.of("frames come with .tensor too, made on the decoding thread"),
    Keyword{"raise_on_error", "bool"}.of(
        "damage is an error; default False: concealed, and the frame marked"),
    Keyword{"sei", "bool"}.of("frames come with .sei; default False"),
    Keyword{"latency", "typing.Literal['normal', 'low']"}.of(
        "low: frames come as soon as they are decoded, no threads work ahead"),
    Keyword{"cuda_context", "int"}.of("a CUcontext; default the device's primary one"),
    Keyword{"cuda_stream", "int"}.of("a CUDA stream in whose order frames are complete"),
    Keyword{"frame_bytes", "int"}.of(
        "bound of the frames that wait decoded; default by the machine's memory"),
    Keyword{"cache_index", "bool"}.of("keep the index in the user's cache folder; default True"),
    Keyword{"index", "StreamIndex"}.of("of this very clip, from another reader"),
    Keyword{"limits", "collections.abc.Mapping[str, float | str]"}.of(
        "what the file may make the reader take, like {\"pixels\": \"16MiB\"}; see docs/limits.md"),
};

} // namespace

std::span<const Keyword> reader_keywords() {
  return keywords_of_readers;
}

VideoReaderOptions reader_options(const nb::kwargs& keywords) {
  VideoReaderOptions options;
  apply_options(keywords, keywords_of_readers, [&](const std::string& name, nb::handle value) {
    check(apply_reader(options, name, value), ErrorCode::internal, "the option '{}' is not applied", name);
  });
  return options;
}

std::string reader_docs() {
  return "source: a path, bytes or a binary file object.\n\n" + keyword_docs(keywords_of_readers);
}

nb::tuple reduce_video(nb::handle self, nb::handle source, nb::handle options) {
  const bool plain = nb::isinstance<nb::str>(source) || nb::isinstance<nb::bytes>(source) ||
                     nb::hasattr(source, "__fspath__");
  if (!plain) throw nb::type_error("a reader of a file object cannot be pickled; open it by path or bytes");
  nb::dict kept;
  for (const auto& [key, value] : nb::cast<nb::dict>(options)) {
    const std::string name = nb::cast<std::string>(key);
    if (name != "index" && name != "cuda_stream" && name != "cuda_context") kept[key] = value;
  }
  const nb::object reopen = nb::module_::import_("lanner").attr("_reopen");
  return nb::make_tuple(reopen, nb::make_tuple(self.type(), source, kept));
}

} // namespace lanner::python
