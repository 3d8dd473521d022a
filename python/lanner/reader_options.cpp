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
    Keyword{"stream", "int"}.of(
        "number of the stream in the container; default the video stream that a player shows"),
    Keyword{"threads", "int"}.of("threads of each decoder; default as many as keep the cores busy"),
    Keyword{"device", "str"}.of("where to decode: \"cpu\" (the default), \"cuda:0\", or \"auto\": a GPU that "
                                "can decode it, else the CPU"),
    Keyword{"output", "str"}.of("device whose memory holds the frames; default where they are decoded"),
    Keyword{"decoders", "int"}.of("decoders at work on one file at the same time; default by cores, decoding "
                                  "units of the GPU and distance of keyframes"),
    Keyword{"prefetch", "int"}.of("frames decoded ahead of an iteration, on another thread; default 0"),
    Keyword{"rotate", "bool"}.of(
        "rotate and mirror frames as the container asks, as players do; default True"),
    Keyword{"format", "str"}.of(
        "pixel format to convert frames to, like \"rgb24\"; default the decoder's own"),
    Keyword{"preprocess", "Preprocess"}.of("also make Frame.tensor by this, on the decoding thread"),
    Keyword{"raise_on_error", "bool"}.of(
        "raise BadData at damage; default False: it is concealed, and Frame.corrupt set"),
    Keyword{"sei", "bool"}.of("collect SEI messages in Frame.sei; default False"),
    Keyword{"latency", "typing.Literal['normal', 'low']"}.of(
        "\"low\": each frame comes as soon as it is decoded, and no threads work ahead, so prefetch and "
        "decoders "
        "are left out; default \"normal\""),
    Keyword{"cuda_context", "int"}.of("handle of a CUcontext to decode in, where device is not \"cpu\"; "
                                      "default the device's primary context"),
    Keyword{"cuda_stream", "int"}.of(
        "handle of the CUDA stream in whose order frames are complete, where device or output is a GPU"),
    Keyword{"frame_bytes", "int"}.of(
        "most bytes of decoded frames that wait; default by the machine's memory"),
    Keyword{"cache_index", "bool"}.of(
        "keep the index in the user's cache folder, so that the next reader need not make it; default True"),
    Keyword{"index", "StreamIndex"}.of("index of the same clip, from another reader"),
    Keyword{"limits", "collections.abc.Mapping[str, float | str]"}.of(
        "bounds on what the file may make the reader use, like {\"pixels\": \"16MiB\"}; docs/limits.md"),
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
  return "Opens a video.\n\nsource: path, bytes or a binary file object; of one that cannot seek, as a pipe, "
         "frames come once\n" +
         keyword_docs(keywords_of_readers);
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
