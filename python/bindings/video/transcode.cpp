// Clips that are written again.

#include <limits>
#include <mutex>

#include <lanner/error.h>
#include <lanner/option_table.h>
#include <lanner/transcode.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/option_rows.h"
#include "video/video_output.h"

namespace lanner::python {
namespace {

struct Result {
  TranscodeResult result;
  std::vector<std::string> notes;
};

/// What a call asks for.
struct Call {
  TranscodeOptions options;
  double start = 0, end = std::numeric_limits<double>::infinity();
  nb::object progress = nb::none();
};

std::vector<Keyword> make_keywords() {
  std::vector<Keyword> all{
      Keyword{"start", "float", "0"}.of(
          "seconds from the first frame on; the frame on the screen there is the first"),
      Keyword{"end", "float"}.of("seconds from the first frame on, where the part ends"),
      Keyword{"quality", "bool", "False"}.of("decode what was encoded, and give PSNR and SSIM of each frame"),
      Keyword{"conceal", "bool", "False"}.of("conceal damage in the clip; else it is an error"),
      Keyword{"device", "str", "'cpu'"}.of("where to decode: cpu, cuda:0"),
      Keyword{"progress", "collections.abc.Callable[[str, int, int], object]"}.of(
          "called with (stage, done, total), a few times a second"),
      Keyword{"limits", "dict[str, int | str]"}.of(
          "bounds of what the clip may ask for, like {\"pixels\": 100_000_000}")};
  for (Keyword& keyword : keywords_of(transcode_option_table(), true)) all.push_back(std::move(keyword));
  // Facts of the pictures are the clip's.
  const auto chosen = keywords_of(writer_option_table(), true, {"width", "height", "fps", "sample_aspect"});
  for (Keyword keyword : chosen) {
    if (keyword.name == "codec") keyword.standard.clear(); // What the container holds.
    all.push_back(std::move(keyword));
  }
  return all;
}

std::span<const Keyword> transcode_keywords() {
  static const std::vector<Keyword> keywords = make_keywords();
  return keywords;
}

void take_other(const std::string& name, nb::handle value, const Limits& limits, Call& call) {
  if (name == "start") call.start = nb::cast<double>(value);
  if (name == "end") call.end = nb::cast<double>(value);
  if (name == "quality") call.options.quality = nb::cast<bool>(value);
  if (name == "conceal") call.options.conceal = nb::cast<bool>(value);
  if (name == "device") call.options.reader.decoder.device = Device::parse(nb::cast<std::string>(value));
  if (name == "progress") call.progress = nb::borrow(value);
  if (const OptionRow<EncoderOptions>* row = find_option(writer_option_table(), name)) {
    row->set(call.options.encoder, to_option_value(row->info, value, limits));
    if (name == "format") call.options.format = call.options.encoder.format;
  }
}

Result transcode_to(nb::handle source, nb::handle output, const nb::args& others,
                    const nb::kwargs& keywords) {
  check_named("transcode", others, "crf=20");
  Call call;
  const Limits limits = limits_among(keywords);
  call.options.reader.demuxer.limits = call.options.reader.decoder.limits = limits;
  take_keywords("transcode", keywords, transcode_keywords(), transcode_option_table(), call.options,
                [&](const std::string& name, nb::handle value) { take_other(name, value, limits, call); });
  Interruptible interruptible(std::move(call.progress));
  const Control control = interruptible.control();
  Result result;
  call.options.cancel = control.cancel;
  call.options.note = [&](const std::string& line) { result.notes.push_back(line); };
  call.options.progress = [&](const TranscodeProgress& progress) {
    control.report({"transcode", static_cast<double>(progress.frames), progress.total_frames, "frames"});
  };
  SourcePtr bytes = to_source(source, limits);
  VideoOutput place = to_video_output(output, call.options.muxer);
  interruptible.run([&] {
    Transcoder transcoder(std::move(bytes), call.options);
    result.result = place.muxer ? transcoder.write(std::move(place.muxer), call.start, call.end)
                                : transcoder.write(place.path, call.start, call.end);
  });
  return result;
}

void register_quality(nb::module_& module) {
  nb::class_<FrameQuality>(module, "FrameQuality", "How close an encoded picture is to its source.")
      .def_ro("frame", &FrameQuality::frame, "Number in the new clip, from 0.")
      .def_ro("seconds", &FrameQuality::seconds, "Time in the new clip.")
      .def_ro("psnr", &FrameQuality::psnr_all, "PSNR of all samples, in dB; infinite if they are equal.")
      .def_ro("ssim", &FrameQuality::ssim_all, "SSIM of all samples; 1 if they are equal.")
      .def_ro("psnr_of_planes", &FrameQuality::psnr, "PSNR of Y, U and V, or of R, G and B.")
      .def_ro("ssim_of_planes", &FrameQuality::ssim, "SSIM of Y, U and V, or of R, G and B.")
      .def("__repr__", [](const FrameQuality& self) {
        return fmt::format("lanner.FrameQuality(frame {}, PSNR {:.2f} dB, SSIM {:.4f})", self.frame,
                           self.psnr_all, self.ssim_all);
      });
}

} // namespace

void register_transcode(nb::module_& module) {
  register_quality(module);
  nb::class_<Result>(module, "TranscodeResult", "What transcode() wrote.")
      .def_prop_ro(
          "frames", [](const Result& self) { return self.result.frames; }, "Frames that were written.")
      .def_prop_ro(
          "seconds", [](const Result& self) { return self.result.seconds; }, "Length in seconds.")
      .def_prop_ro(
          "bytes", [](const Result& self) { return self.result.bytes; }, "Bytes that were written.")
      .def_prop_ro(
          "paths", [](const Result& self) { return self.result.paths; },
          nb::sig("def paths(self) -> list[str]"),
          "The files; more than one if changes of size began others.")
      .def_ro("notes", &Result::notes, "What was changed or left out, one line each.")
      .def_prop_ro(
          "quality", [](const Result& self) { return self.result.quality; },
          nb::sig("def quality(self) -> list[FrameQuality]"), "Quality of each frame, if requested.")
      .def("__repr__", [](const Result& self) {
        return fmt::format("lanner.TranscodeResult({} frames, {:.2f} s, {} bytes)", self.result.frames,
                           self.result.seconds, self.result.bytes);
      });
  module.def(
      "transcode", &transcode_to, nb::arg("source"), nb::arg("output"), nb::arg("others"), nb::arg("options"),
      nb::sig(
          signature("def transcode(source: str | os.PathLike[str] | bytes | typing.BinaryIO, output: str | "
                    "os.PathLike[str] | typing.BinaryIO",
                    transcode_keywords(), "TranscodeResult")
              .c_str()),
      ("Decodes a clip and encodes it again, with its audio, subtitles, attached files, chapters and tags as "
       "they are; docs/transcode.md. Frames keep their times. The file appears whole or not at all.\n\n"
       "source: path, bytes or file object of the clip\noutput: file to write, whose extension chooses the "
       "container, or an object with `write`\n" +
       keyword_docs(transcode_keywords()))
          .c_str());
}

} // namespace lanner::python
