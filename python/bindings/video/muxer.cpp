// Containers, put together from packets.

#include <limits>
#include <memory>

#include <lanner/demuxer.h>
#include <lanner/error.h>
#include <lanner/hdr.h>
#include <lanner/muxer.h>
#include <lanner/option_table.h>

#include "calls/check.h"
#include "calls/option_rows.h"
#include "video/packets.h"
#include "video/sole_object.h"
#include "video/video_output.h"

namespace lanner::python {
namespace {

/// A Muxer, and what is known of it once it was closed.
class PyMuxer : public SoleObject<Muxer> {
public:
  explicit PyMuxer(std::unique_ptr<Muxer> muxer)
      : SoleObject(std::move(muxer), "Muxer", "it is closed; open another file") {
    without_gil([&](Muxer& made) {
      format_ = made.format();
      wants_global_header_ = made.wants_global_header();
    });
  }

  /// Completes the file; close() alone removes what was begun.
  void finish() {
    const ReleasedGil released;
    call([&](std::unique_ptr<Muxer>& muxer) {
      if (!muxer) return;
      const std::unique_ptr<Muxer> last = std::move(muxer); // After an error nothing is left of it.
      last->finish();
      bytes_ = last->bytes();
    });
  }
  std::int64_t bytes() {
    return call([&](std::unique_ptr<Muxer>& muxer) { return muxer ? muxer->bytes() : bytes_; });
  }
  const std::string& format() const noexcept { return format_; }
  bool wants_global_header() const noexcept { return wants_global_header_; }

private:
  std::string format_;
  bool wants_global_header_ = false;
  std::int64_t bytes_ = 0; ///< Of a file that is whole.
};

/// Those of the table of transcoding that say what file is written.
std::span<const Keyword> muxer_keywords() {
  static const std::vector<Keyword> keywords = [] {
    std::vector<Keyword> chosen;
    for (Keyword& keyword : keywords_of(transcode_option_table(), true))
      for (const char* name : {"container", "metadata", "fragmented"})
        if (keyword.name == name) chosen.push_back(std::move(keyword));
    return chosen;
  }();
  return keywords;
}

void construct(PyMuxer* self, nb::handle output, const nb::args& others, const nb::kwargs& keywords) {
  check_named("Muxer", others, "container=\"mp4\"");
  TranscodeOptions options;
  take_keywords("Muxer", keywords, muxer_keywords(), transcode_option_table(), options);
  VideoOutput place = to_video_output(output, options.muxer);
  const ReleasedGil released;
  new (self) PyMuxer(place.muxer ? std::move(place.muxer) : create_muxer(place.path, options.muxer));
}

int add_stream(PyMuxer& self, nb::handle stream, nb::handle metadata) {
  if (!nb::isinstance<StreamInfo>(stream))
    refuse("stream", stream, "is of the wrong type", "a StreamInfo, like encoder.stream");
  StreamInfo info = nb::cast<const StreamInfo&>(stream);
  check(info.kind == "video" || info.kind == "audio" || info.kind == "subtitle", ErrorCode::unsupported,
        "Muxer: add_stream: a stream of kind '{}'; copy_stream() takes those of a Demuxer", info.kind);
  if (!metadata.is_none())
    for (auto& [key, text] :
         to_value<std::map<std::string, std::string>>("metadata", metadata, "a dict of texts"))
      info.metadata[key] = std::move(text);
  return self.with([&](Muxer& muxer) { return muxer.add_stream(info); });
}

int copy_stream(PyMuxer& self, nb::handle demuxer, int stream) {
  int number = 0;
  with_demuxer(demuxer, [&](Demuxer& from) {
    number = self.without_gil([&](Muxer& muxer) { return muxer.copy_stream(from, stream); });
  });
  return number;
}

int copy_chapters(PyMuxer& self, nb::handle demuxer) {
  constexpr double end = std::numeric_limits<double>::infinity();
  int count = 0;
  with_demuxer(demuxer, [&](Demuxer& from) {
    count = self.without_gil([&](Muxer& muxer) { return muxer.copy_chapters(from, 0, end); });
  });
  return count;
}

void write(PyMuxer& self, nb::handle packet, std::optional<int> stream) {
  if (!nb::isinstance<Packet>(packet)) refuse("packet", packet, "is of the wrong type", "a Packet");
  Packet given = nb::cast<const Packet&>(packet);
  given.stream = stream.value_or(given.stream);
  self.with([&](Muxer& muxer) { muxer.write(given); });
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void leave(PyMuxer& self, nb::handle kind, nb::handle, nb::handle) {
  if (kind.is_none())
    self.finish();
  else
    self.close();
}

void register_streams(nb::class_<PyMuxer>& muxer) {
  muxer
      .def(
          "add_stream", &add_stream, nb::arg("stream").none(), nb::kw_only(),
          nb::arg("metadata") = nb::none(),
          nb::sig("def add_stream(self, stream: StreamInfo, *, metadata: collections.abc.Mapping[str, str] | "
                  "None = None) -> int"),
          "Declares a stream before the first write() and gives its number. Raises InvalidArgument where the "
          "container keeps codec headers apart and the stream has none apart (global_header of an Encoder), "
          "Unsupported for a codec that it cannot hold.\n\nstream: what the packets are: Encoder.stream, one "
          "of Demuxer.streams, or a StreamInfo made by hand, with its time_base\nmetadata: tags of the "
          "stream, "
          "like its language")
      .def("copy_stream", &copy_stream, nb::arg("demuxer").none(), nb::arg("stream"),
           nb::sig("def copy_stream(self, demuxer: Demuxer, stream: int) -> int"),
           "Declares a stream as a demuxer has it, with tags, language, disposition, rotation and HDR "
           "metadata, "
           "before the first write(), and gives its number. Its packets are the demuxer's own; an attached "
           "file "
           "has none. Raises Unsupported for what the container cannot hold.\n\ndemuxer: where the stream is "
           "from\nstream: its number there")
      .def("copy_chapters", &copy_chapters, nb::arg("demuxer").none(),
           nb::sig("def copy_chapters(self, demuxer: Demuxer) -> int"),
           "Copies the chapters of a file, before the first write(), and gives how many: 0 where the "
           "container "
           "has no place for them.\n\ndemuxer: where the chapters are from");
}

void register_facts(nb::class_<PyMuxer>& muxer) {
  muxer
      .def_prop_ro(
          "format", [](const PyMuxer& self) { return self.format(); },
          "Container by FFmpeg's name, such as `mp4` or `matroska`.")
      .def_prop_ro(
          "wants_global_header", &PyMuxer::wants_global_header,
          "Whether codec headers are kept apart from packets: give it to the Encoder as global_header.")
      .def_prop_ro("bytes", &PyMuxer::bytes, "Bytes written so far.")
      .def_prop_ro("closed", &PyMuxer::closed, "Whether close() was called, or an error ended the `with`.")
      .def("__repr__", [](PyMuxer& self) {
        return fmt::format("lanner.Muxer({}{})", self.format(), self.closed() ? ", closed" : "");
      });
}

} // namespace

void register_muxer(nb::module_& module) {
  nb::class_<PyMuxer> muxer(
      module, "Muxer",
      "Writes packets into a container; docs/writing-video.md. The file appears under its path with close(), "
      "or at the end of `with`; after an error there is none. It is used by one thread at a time: "
      "InvalidArgument where two calls meet.");
  muxer.def(
      "__init__", &construct, nb::arg("output").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def __init__(self, output: str | os.PathLike[str] | typing.BinaryIO",
                        muxer_keywords(), "None")
                  .c_str()),
      ("Names the file and its container. Raises Unsupported for a container that is not known.\n\noutput: "
       "file to write; its extension chooses the container: .mp4, .mkv, .webm, .mov, .ts, and .h264, .hevc "
       "and "
       ".obu for bare streams. Or an object with `write`, like io.BytesIO, which gets the bytes as they "
       "come: "
       "MP4 in fragments unless container or its name say another\n" +
       keyword_docs(muxer_keywords()))
          .c_str());
  register_streams(muxer);
  muxer
      .def(
          "write", &write, nb::arg("packet").none(), nb::kw_only(), nb::arg("stream") = nb::none(),
          nb::sig("def write(self, packet: Packet, *, stream: int | None = None) -> None"),
          "Appends a packet. Packets of a stream come in decoding order, with times in ticks of the stream's "
          "time_base: pts, and dts where the order of presentation is another. Packets of several streams "
          "may "
          "come in any order; they are kept back until they can be written by their times.\n\npacket: its "
          "stream is the number that add_stream() gave\nstream: that number, in place of the packet's")
      .def(
          "close", &PyMuxer::finish,
          "Completes the file and gives it its name. Nothing happens the second time. Raises InvalidArgument "
          "where no stream was added.");
  register_facts(muxer);
  muxer
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", &leave, nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none(),
           nb::sig("def __exit__(self, kind: object, value: object, trace: object) -> None"));
}

} // namespace lanner::python
