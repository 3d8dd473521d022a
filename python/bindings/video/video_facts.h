#pragma once
// What VideoReader and ParallelDecoder tell of their video without decoding.

#include <map>
#include <optional>
#include <string>

#include <lanner/demuxer.h>
#include <lanner/video_reader.h>

#include "calls/bindings.h"

namespace lanner::python {

/// Taken when the video is opened, so that no thread at work with it is asked.
struct VideoFacts {
  StreamInfo stream;
  std::int32_t width = 0, height = 0;                    ///< As shown.
  bool seekable = true;                                  ///< Else it is read once.
  double container_seconds = 0;                          ///< 0 where it says nothing.
  std::optional<double> measured_rate, measured_seconds; ///< By the frames' own times, once they are known.
  std::string name, decoder, decoder_reason;
  std::map<std::string, std::string> metadata;

  void add(const Demuxer& demuxer);
  /// From here on rate and duration are those of the frames.
  void measure(const StreamIndex& index);
  std::optional<double> fps() const;
  std::optional<double> duration() const;
  /// `lanner.VideoReader(1280x720 h264, 25 fps, 12.00 s, ffmpeg h264, 2 threads)`
  std::string line(std::string_view noun, bool closed) const;
  /// The same and more, as a table; `picture` is markup below it.
  nb::object html(std::string_view noun, bool closed, std::string_view picture) const;
};

VideoFacts facts_of(const StreamInfo& stream, bool rotate);
nb::object pts_or_none(std::int64_t pts);

/// Properties of a class whose objects have `facts`.
template<typename Video>
void register_facts(nb::class_<Video>& video) {
  video
      .def_prop_ro(
          "stream", [](const Video& self) { return self.facts.stream; }, nb::rv_policy::copy,
          "What the container says about the stream, before rotation.")
      .def_prop_ro(
          "width", [](const Video& self) { return self.facts.width; },
          "Width of frames in pixels, after rotation.")
      .def_prop_ro(
          "height", [](const Video& self) { return self.facts.height; },
          "Height of frames in pixels, after rotation.")
      .def_prop_ro(
          "metadata",
          [](const Video& self) {
            nb::dict metadata;
            for (const auto& [key, value] : self.facts.metadata) metadata[text_of(key)] = text_of(value);
            return metadata;
          },
          nb::sig("def metadata(self) -> dict[str, str]"),
          "Metadata of the file and of its stream, like title; the stream's takes precedence.")
      .def_prop_ro(
          "decoder_reason", [](const Video& self) { return self.facts.decoder_reason; },
          "Why this decoder was chosen.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def(
          "__exit__", [](nb::handle self, nb::handle, nb::handle, nb::handle) { self.attr("close")(); },
          nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none(),
          nb::sig("def __exit__(self, kind: object, value: object, trace: object) -> None"));
}

} // namespace lanner::python
