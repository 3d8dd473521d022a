#include "video/video_output.h"

#include <filesystem>

#include <lanner/error.h>

#include "calls/check.h"

namespace lanner::python {
namespace {

/// By the end of a file object's name.
std::string container_of(nb::handle object) {
  const nb::object name = nb::getattr(object, "name", nb::none());
  if (!nb::isinstance<nb::str>(name)) return "mp4";
  const std::string extension = std::filesystem::path(nb::cast<std::string>(name)).extension().string();
  const std::string_view format = format_of_extension(extension);
  return format.empty() ? "mp4" : std::string(format);
}

/// Calls `write` with the lock of Python's, from threads that let go of it.
WriteCallback writing_to(nb::handle object) {
  const std::shared_ptr<nb::object> write(new nb::object(object.attr("write")), [](nb::object* held) {
    if (const HeldGil gil{}) delete held;
  });
  return [write](std::span<const std::byte> bytes) {
    const HeldGil gil;
    check(static_cast<bool>(gil), ErrorCode::cancelled, "file object: Python is ending");
    std::size_t done = 0;
    while (done < bytes.size()) {
      const nb::bytes part(reinterpret_cast<const char*>(bytes.data()) + done, bytes.size() - done);
      const nb::object count = call_python(*write, nb::make_tuple(part));
      if (!nb::isinstance<nb::int_>(count)) return; // Who does not say has taken all.
      const auto taken = nb::cast<std::int64_t>(count);
      check(taken > 0 && static_cast<std::size_t>(taken) <= bytes.size() - done, ErrorCode::io,
            "file object: write() of {} bytes took {}", bytes.size() - done, taken);
      done += static_cast<std::size_t>(taken);
    }
  };
}

bool is_path(nb::handle object) {
  return nb::isinstance<nb::str>(object) || PyBytes_Check(object.ptr()) || nb::hasattr(object, "__fspath__");
}

} // namespace

VideoOutput to_video_output(nb::handle output, const MuxerOptions& options) {
  VideoOutput result;
  if (is_path(output) || !nb::hasattr(output, "write")) {
    result.path = path_of(output);
    return result;
  }
  const std::string format = options.format.empty() ? container_of(output) : options.format;
  check(!options.fragmented || format == "mp4" || format == "mov", ErrorCode::invalid_argument,
        "file object: fragmented: is of MP4 and MOV, the container is {}", format);
  result.muxer = create_muxer(writing_to(output), format, "file object");
  result.muxer->set_metadata(options.metadata);
  return result;
}

CopiedStreams to_copied(nb::handle source, nb::handle kinds, const Limits& limits) {
  CopiedStreams copied;
  if (source.is_none()) return copied;
  nb::object from = nb::borrow(source);
  // A reader is told by what it was opened with.
  if (nb::hasattr(from, "frames_at") || nb::hasattr(from, "keyframes") || nb::hasattr(from, "get_batch"))
    from = from.attr("__reduce__")()[1][1];
  copied.source = to_source(from, limits);
  copied.demuxer.limits = limits;
  if (kinds.is_none()) return copied;
  copied.audio = copied.subtitles = copied.attachments = copied.chapters = copied.tags = false;
  const std::pair<std::string_view, bool*> known[] = {{"audio", &copied.audio},
                                                      {"subtitles", &copied.subtitles},
                                                      {"attachments", &copied.attachments},
                                                      {"chapters", &copied.chapters},
                                                      {"tags", &copied.tags}};
  const nb::object names =
      nb::isinstance<nb::str>(kinds) ? nb::object(nb::make_tuple(kinds)) : nb::borrow(kinds);
  for (nb::handle kind : names) {
    bool found = false;
    const std::string name = to_value<std::string>("copy", kind, "names like \"audio\"");
    for (const auto& [word, flag] : known)
      if (word == name) found = *flag = true;
    check(found, ErrorCode::invalid_argument,
          "copy: '{}' is not one of audio, subtitles, attachments, chapters, tags", name);
  }
  return copied;
}

} // namespace lanner::python
