// lanner probe: shows what is in a clip, image or model.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include <lanner/audio_reader.h>
#include <lanner/error.h>
#include <lanner/model_file.h>
#include <lanner/video_reader.h>

#include "check.h"
#include "command.h"
#include "commands/probe_model.h"
#include "input/media.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

struct ProbeOptions {
  std::string path;
  bool exact = false, json = false;
};

/// Frames of the video stream, from its packets or by decoding them.
struct FrameFacts {
  bool decoded = false;
  std::vector<std::int64_t> pts; ///< Only frames that have a pts.
  std::int64_t frames = 0, keyframes = 0, corrupt = 0;
  std::int64_t longest_gop = 0;
  Rational time_base;
  std::string damage; ///< Where the container is truncated.

  void add(std::int64_t time, bool key, bool damaged) {
    if (key) ++keyframes;
    since_key_ = key ? 1 : since_key_ + 1;
    longest_gop = std::max(longest_gop, since_key_);
    if (damaged) ++corrupt;
    if (time != no_pts) pts.push_back(time);
    ++frames;
  }

  /// Whether the intervals between frames differ by more than the rounding to ticks.
  bool variable() const {
    std::int64_t least = INT64_MAX, most = 0;
    for (std::size_t i = 1; i < pts.size(); ++i) {
      least = std::min(least, pts[i] - pts[i - 1]);
      most = std::max(most, pts[i] - pts[i - 1]);
    }
    return pts.size() > 2 && most - least > 1;
  }

private:
  std::int64_t since_key_ = 0;
};

FrameFacts read_index(const std::string& path, int stream) {
  ProgressBar bar("probe");
  DemuxerOptions options;
  options.cancel = interrupt_token();
  options.limits = given_limits();
  const auto index =
      build_index(open_path(path, given_limits()), {options, stream}, {interrupt_token(), bar.callback()});
  FrameFacts facts;
  facts.time_base = index->time_base;
  for (const IndexEntry& entry : index->frames) facts.add(entry.pts, entry.key, false);
  const auto demuxer = open_demuxer(open_path(path, given_limits()), options);
  while (demuxer->next()) {
  }
  facts.damage = demuxer->damage();
  return facts;
}

FrameFacts decode_all(const std::string& path, int stream, std::int64_t expected) {
  VideoReaderOptions options;
  options.stream = stream;
  options.demuxer.cancel = interrupt_token();
  options.demuxer.limits = options.decoder.limits = given_limits();
  VideoReader reader(open_path(path, given_limits()), options);
  FrameFacts facts;
  facts.decoded = true;
  facts.time_base = reader.stream().time_base;
  ProgressBar bar("probe");
  while (const auto frame = reader.next()) {
    interrupt_token().check();
    facts.add(frame->pts, frame->key, frame->corrupt);
    bar.update(static_cast<double>(facts.frames), static_cast<double>(expected), "frames");
  }
  facts.damage = reader.demuxer().damage();
  return facts;
}

Json rational_json(const Rational& value) {
  return value.den ? Json{value.num, value.den} : Json();
}

Json time_json(std::int64_t ticks, const Rational& base) {
  return ticks == no_pts || base.den == 0 ? Json() : Json(seconds_of(ticks, base));
}

Json video_json(const StreamInfo& stream) {
  return {{"width", stream.width},
          {"height", stream.height},
          {"pixel_format", stream.native_format},
          {"bit_depth", stream.bit_depth},
          {"interlaced", stream.interlaced},
          {"layers", stream.layers},
          {"fps", stream.average_rate.den ? Json(stream.average_rate.to_double()) : Json()},
          {"average_rate", rational_json(stream.average_rate)},
          {"sample_aspect", rational_json(stream.sample_aspect)},
          {"mirror", stream.mirror},
          {"rotation", stream.rotation},
          {"color",
           {{"matrix", std::string(to_string(stream.color.matrix))},
            {"range", std::string(to_string(stream.color.range))},
            {"siting", std::string(to_string(stream.color.siting))},
            {"primaries", stream.color.primaries},
            {"transfer", stream.color.transfer}}}};
}

Json audio_json(const AudioFormat& audio) {
  return {{"sample_rate", audio.sample_rate},
          {"channels", audio.channels},
          {"channel_layout", audio.channel_layout},
          {"sample_format", audio.sample_format}};
}

Json stream_json(const Demuxer& demuxer, const StreamInfo& stream) {
  Json json{
      {"index", stream.index}, {"kind", stream.kind}, {"codec", stream.codec}, {"profile", stream.profile}};
  if (stream.kind == "video") json.update(video_json(stream));
  if (stream.kind == "audio") json.update(audio_json(audio_format(demuxer, stream.index)));
  json["time_base"] = rational_json(stream.time_base);
  json["start"] = time_json(stream.start_pts, stream.time_base);
  json["duration"] = stream.duration > 0 ? time_json(stream.duration, stream.time_base) : Json();
  json["frames_by_container"] = stream.frames > 0 ? Json(stream.frames) : Json();
  json["bit_rate"] = stream.bit_rate > 0 ? Json(stream.bit_rate) : Json();
  return json;
}

Json facts_json(const FrameFacts& facts) {
  Json json{{"by", facts.decoded ? "decoding" : "packets"},
            {"count", facts.frames},
            {"keyframes", facts.keyframes},
            {"longest_gop", facts.longest_gop}};
  if (!facts.pts.empty()) {
    json["first_pts"] = time_json(facts.pts.front(), facts.time_base);
    json["last_pts"] = time_json(facts.pts.back(), facts.time_base);
    json["variable_rate"] = facts.variable();
  }
  if (!facts.decoded) return json;
  json["corrupt"] = facts.corrupt;
  json["time_base"] = rational_json(facts.time_base);
  json["pts"] = facts.pts;
  return json;
}

std::string bits_text(std::int64_t bits) {
  return bits >= 1'000'000 ? fmt::format("{:.2f} Mb/s", static_cast<double>(bits) / 1e6)
                           : fmt::format("{:.0f} kb/s", static_cast<double>(bits) / 1e3);
}

std::string color_text(const StreamInfo& stream) {
  const ColorInfo& color = stream.color;
  if (color.matrix == ColorMatrix::unspecified && color.range == ColorRange::unspecified)
    return "colour unspecified";
  return fmt::format("{} {}", to_string(color.matrix), to_string(color.range));
}

std::string stream_text(const Demuxer& demuxer, const StreamInfo& stream) {
  std::string text = fmt::format("  #{} {} {}", stream.index, stream.kind, stream.codec);
  const auto add = [&](const std::string& part) { text += ", " + part; };
  if (!stream.profile.empty()) text += " " + one_line(stream.profile);
  if (stream.kind == "video") {
    add(fmt::format("{}x{}", stream.width, stream.height));
    if (stream.average_rate.den) add(fmt::format("{:.3f} fps", stream.average_rate.to_double()));
    add(fmt::format("{} ({} bits)", stream.native_format, stream.bit_depth));
    add(color_text(stream));
    if (stream.sample_aspect.den && stream.sample_aspect.num != stream.sample_aspect.den &&
        stream.sample_aspect.num > 0)
      add(fmt::format("sample aspect {}:{}", stream.sample_aspect.num, stream.sample_aspect.den));
    if (stream.mirror) add("shown mirrored");
    if (stream.rotation != 0) add(fmt::format("shown rotated by {:g} degrees", stream.rotation));
    if (stream.interlaced) add("interlaced");
    if (stream.layers > 1) add(fmt::format("{} layers", stream.layers));
  }
  if (stream.kind == "audio") {
    const AudioFormat audio = audio_format(demuxer, stream.index);
    if (audio.sample_rate > 0) add(fmt::format("{} Hz", audio.sample_rate));
    if (!audio.channel_layout.empty()) add(one_line(audio.channel_layout));
    if (!audio.sample_format.empty()) add(audio.sample_format);
  }
  if (stream.bit_rate > 0) add(bits_text(stream.bit_rate));
  return text + "\n";
}

std::string facts_text(const FrameFacts& facts) {
  std::string text =
      fmt::format("     {} {} by {}, {} {}, at most {} {} apart", facts.frames,
                  facts.frames == 1 ? "frame" : "frames", facts.decoded ? "decoding" : "packets",
                  facts.keyframes, facts.keyframes == 1 ? "keyframe" : "keyframes", facts.longest_gop,
                  facts.longest_gop == 1 ? "frame" : "frames");
  if (!facts.pts.empty()) {
    text += fmt::format(
        "\n     pts {:.3f} to {:.3f} s, {} rate", seconds_of(facts.pts.front(), facts.time_base),
        seconds_of(facts.pts.back(), facts.time_base), facts.variable() ? "variable" : "constant");
  }
  if (facts.corrupt > 0) text += fmt::format("\n     {} frames are damaged", facts.corrupt);
  return text + "\n";
}

void print_image(const ProbeOptions& options) {
  const Image image = load_image(options.path, given_limits());
  if (options.json) {
    const Json json{{"path", options.path},
                    {"kind", "image"},
                    {"width", image.width},
                    {"height", image.height},
                    {"pixel_format", std::string(to_string(image.format))}};
    print_json(json);
  } else {
    print_text(fmt::format("{}: image, {}x{}, {}\n", one_line(options.path), image.width, image.height,
                           to_string(image.format)));
  }
}

void print_clip(const ProbeOptions& options) {
  DemuxerOptions demuxer_options;
  demuxer_options.cancel = interrupt_token();
  demuxer_options.limits = given_limits();
  const SourcePtr source = open_path(options.path, given_limits());
  const auto demuxer = open_demuxer(source, demuxer_options);
  const int video = demuxer->best_video();
  FrameFacts facts;
  if (video >= 0) facts = read_index(options.path, video);
  if (video >= 0 && options.exact) facts = decode_all(options.path, video, facts.frames);
  Json json{{"path", options.path},
            {"kind", "clip"},
            {"format", demuxer->format()},
            {"bytes", source->size()},
            {"duration", demuxer->duration() > 0 ? Json(demuxer->duration()) : Json()}};
  std::string text = fmt::format(
      "{}: {}, {:.3f} s, {}\n", one_line(options.path), demuxer->format(), demuxer->duration(),
      source->size() < 0 ? "size unknown" : bytes_text(static_cast<std::uint64_t>(source->size())));
  json["streams"] = Json::array();
  for (const StreamInfo& stream : demuxer->streams()) {
    json["streams"].push_back(stream_json(*demuxer, stream));
    text += stream_text(*demuxer, stream);
    if (stream.index != video) continue;
    json["streams"].back()["frames"] = facts_json(facts);
    text += facts_text(facts);
  }
  if (options.json)
    print_json(json);
  else
    print_text(text);
  flush_out();
  check(facts.damage.empty(), ErrorCode::bad_data, "{}", facts.damage);
}

/// For a file without a known signature, which FFmpeg may still know.
void print_unknown(const ProbeOptions& options) {
  std::error_code ignored;
  check(std::filesystem::file_size(options.path, ignored) != 0, ErrorCode::bad_data, "{}: the file is empty",
        options.path);
  try {
    print_clip(options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_data) throw;
    fail(ErrorCode::bad_data,
         "{}: neither a model (ONNX, TensorFlow, Caffe) nor a plan, a clip or an image of a known format",
         options.path);
  }
}

int run_probe(const ProbeOptions& options) {
  about("probe", options.path, [&] {
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(options.path, ignored);
    const FileKind kind = folder ? FileKind::other : kind_of(options.path);
    std::optional<ModelFile> model;
    const bool untold = kind == FileKind::other && (folder || !looks_like_media(open_media(options.path)));
    if (untold) model = model_file(options.path, given_limits());
    check(!options.exact || (kind != FileKind::plan && !model), ErrorCode::invalid_argument,
          "{}: --exact is for clips", options.path);
    if (kind == FileKind::image)
      print_image(options);
    else if (kind == FileKind::plan || model)
      print_model(options.path, model ? &*model : nullptr, options.json);
    else if (untold && !folder)
      print_unknown(options);
    else
      print_clip(options);
  });
  return 0;
}

} // namespace

void add_probe(Command& program, Action& action) {
  auto [command, options] = make_command<ProbeOptions>(
      program, action, "probe", "Show what is in a clip, an image or a model.", run_probe);
  command.add_option("file", options->path, "A clip, an image, a model of any kind, or a plan").required();
  command.add_flag("--exact", options->exact,
                   "Decode everything: exact frame count, pts of every frame (in --json), damage");
  command.add_flag("--json", options->json, "As one JSON object");
  add_limit_option(command);
  command.footer("Times are seconds; `pts` in JSON is in ticks of the stream's time base. Without --exact, "
                 "frames and keyframes are counted\n"
                 "from the packets, which are all read.\n\n"
                 "For a model it shows the format, inputs, outputs and operators, and the task and "
                 "preprocessing that lanner run would use; "
                 "nothing is built.\n\n"
                 "Examples:\n  lanner probe clip.mp4\n  lanner probe model.onnx\n  lanner probe clip.mp4 "
                 "--exact\n  lanner probe "
                 "clip.mp4 --exact --json | jq '.streams[0].frames.pts'");
}

} // namespace lanner::tool
