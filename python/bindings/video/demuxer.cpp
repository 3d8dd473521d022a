// Containers, taken apart into packets.

#include <lanner/demuxer.h>
#include <lanner/error.h>

#include "calls/check.h"
#include "video/packets.h"
#include "video/sole_object.h"

namespace lanner::python {
namespace {

using Container = SoleObject<Demuxer>;

void open_container(Container* self, nb::handle source, const std::string& format, bool allow_nested_opens,
                    nb::handle limits) {
  DemuxerOptions options;
  options.format = format;
  options.allow_nested_opens = allow_nested_opens;
  if (!limits.is_none())
    options.limits = with_option_named(
        "limits", limits, [&] { return to_limits(limits); }, "a dict of limits");
  SourcePtr bytes = to_source(source, options.limits);
  Interruptible work;
  options.cancel = work.control().cancel;
  work.run([&] {
    new (self)
        Container(open_demuxer(std::move(bytes), options), "Demuxer", "it was closed; open the file again");
  });
}

Packet next_packet(Container& self) {
  std::optional<Packet> packet = self.with([](Demuxer& demuxer) { return demuxer.next(); });
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (!packet) throw nb::stop_iteration();
  return std::move(*packet);
}

void seek(Container& self, std::int64_t pts, std::optional<int> stream) {
  self.with([&](Demuxer& demuxer) {
    const int number = stream.value_or(demuxer.best_video());
    check(stream.has_value() || number >= 0, ErrorCode::invalid_argument,
          "seek: there is no video stream; name the stream whose times are meant with stream=");
    demuxer.seek(number, pts);
  });
}

nb::dict texts_of(const std::map<std::string, std::string>& texts) {
  nb::dict dict;
  for (const auto& [key, value] : texts) dict[text_of(key)] = text_of(value);
  return dict;
}

std::string describe(Container& self) {
  if (self.closed()) return "lanner.Demuxer(closed)";
  return self.with([](Demuxer& demuxer) {
    std::string text = fmt::format("lanner.Demuxer({}", demuxer.format());
    for (const StreamInfo& stream : demuxer.streams())
      text += fmt::format(", {} {}", stream.kind, stream.codec);
    return text + ")";
  });
}

void register_facts_of_container(nb::class_<Container>& demuxer) {
  demuxer
      .def_prop_ro(
          "streams",
          [](Container& self) { return self.with([](Demuxer& demuxer) { return demuxer.streams(); }); },
          "What the container says about each stream; in formats without a header, like MPEG-TS, a stream "
          "may be added later.")
      .def_prop_ro(
          "metadata",
          [](Container& self) {
            return texts_of(self.with([](Demuxer& demuxer) { return demuxer.metadata(); }));
          },
          nb::sig("def metadata(self) -> dict[str, str]"), "Metadata of the file, like its title.")
      .def_prop_ro(
          "duration",
          [](Container& self) {
            const double seconds = self.with([](Demuxer& demuxer) { return demuxer.duration(); });
            return seconds > 0 ? nb::cast(seconds) : nb::none();
          },
          nb::sig("def duration(self) -> float | None"),
          "Length in seconds, from the container; None if it does not say.")
      .def_prop_ro(
          "format",
          [](Container& self) { return self.with([](Demuxer& demuxer) { return demuxer.format(); }); },
          "Container by FFmpeg's name, such as `mov,mp4,m4a,3gp,3g2,mj2`.")
      .def_prop_ro(
          "best_video",
          [](Container& self) {
            const int stream = self.with([](Demuxer& demuxer) { return demuxer.best_video(); });
            return stream < 0 ? nb::none() : nb::cast(stream);
          },
          nb::sig("def best_video(self) -> int | None"),
          "Number of the video stream that a player shows; None without one.")
      .def_prop_ro(
          "damage",
          [](Container& self) { return self.with([](Demuxer& demuxer) { return demuxer.damage(); }); },
          "What is missing, if the file was found to end early; else empty.");
}

void register_calls_of_container(nb::class_<Container>& demuxer) {
  demuxer
      .def(
          "select",
          [](Container& self, const std::vector<int>& streams) {
            self.with([&](Demuxer& demuxer) { demuxer.select(streams); });
          },
          nb::arg("streams"), nb::sig("def select(self, streams: collections.abc.Sequence[int]) -> None"),
          "Returns packets of these streams only, from now on.\n\nstreams: numbers of streams")
      .def("seek", &seek, nb::arg("pts"), nb::arg("stream") = nb::none(),
           "Continues at the last keyframe at or before a time. Raises Unsupported if the source is not "
           "seekable.\n\npts: time in ticks of the stream's time_base\nstream: number of the stream; None: "
           "best_video")
      .def(
          "seek_to_byte",
          [](Container& self, std::int64_t pos) {
            self.with([&](Demuxer& demuxer) { demuxer.seek_to_byte(pos); });
          },
          nb::arg("pos"),
          "Continues at a byte position, for streams without times. Raises Unsupported for containers that "
          "cannot be read without their index tables.\n\npos: position in bytes, as Packet.pos")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __iter__(self) -> typing.Self"), "Packets in the order of the file.")
      .def("__next__", &next_packet)
      .def("close", &Container::close, "Closes the file; packets that were returned stay valid.")
      .def_prop_ro("closed", &Container::closed, "Whether close() was called.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def(
          "__exit__", [](Container& self, nb::handle, nb::handle, nb::handle) { self.close(); },
          nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none(),
          nb::sig("def __exit__(self, kind: object, value: object, trace: object) -> None"))
      .def("__repr__", [](Container& self) { return text_of(describe(self)); });
}

} // namespace

void with_demuxer(nb::handle object, const std::function<void(Demuxer&)>& body) {
  if (!nb::isinstance<Container>(object)) refuse("demuxer", object, "is of the wrong type", "a Demuxer");
  nb::cast<Container&>(object).with(body);
}

void register_demuxer(nb::module_& module) {
  nb::class_<Container> demuxer(module, "Demuxer",
                                "Splits a container into packets, which a Decoder takes. Iteration gives "
                                "them in file order, for all streams or those of select(). `with` closes it. "
                                "For one thread at a time: two calls at once raise InvalidArgument.");
  demuxer.def(
      "__init__", &open_container, nb::arg("source").none(), nb::kw_only(), nb::arg("format") = "",
      nb::arg("allow_nested_opens") = false, nb::arg("limits") = nb::none(),
      nb::sig("def __init__(self, source: str | os.PathLike[str] | bytes | io.BufferedIOBase, *, format: str "
              "= '', allow_nested_opens: bool = False, limits: collections.abc.Mapping[str, float | str] | "
              "None = None) -> None"),
      "Opens a file. Raises NotFound, BadData, Unsupported.\n\nsource: path, bytes or a binary file object; "
      "a pipe, which cannot seek, can be read once\nformat: FFmpeg's name of the container, such as h264 for "
      "an elementary stream; empty: detected from the content\nallow_nested_opens: let playlists open "
      "the files that they name\nlimits: limits on the resources that a file may use, like {\"total_bytes\": "
      "\"4GiB\"}; docs/limits.md lists them");
  register_facts_of_container(demuxer);
  register_calls_of_container(demuxer);
}

} // namespace lanner::python
