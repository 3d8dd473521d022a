#include "options/foreign_options.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lanner::tool {
namespace {

/// Without its dashes, and with `-` for `_`.
std::string plain(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

/// The option here, with an example value where that helps.
struct Meaning {
  std::string_view foreign, option, rest;
};

constexpr Meaning meanings[] = {
    {"conf", "--score-threshold", ""},
    {"conf-thres", "--score-threshold", ""},
    {"confidence", "--score-threshold", ""},
    {"threshold", "--score-threshold", ""},
    {"score", "--score-threshold", ""},
    {"iou", "--iou-threshold", ""},
    {"iou-thres", "--iou-threshold", ""},
    {"nms", "--iou-threshold", ""},
    {"topk", "--top", ""},
    {"top-k", "--top", ""},
    {"names", "--labels", ""},
    {"classes", "--labels", ""},
    {"source", "-i", ""},
    {"images", "-i", ""},
    {"video", "-i", ""},
    {"in", "-i", ""},
    {"out", "-o", ""},
    {"output", "-o", ""},
    {"save", "-o", " FOLDER/"},
    {"project", "-o", " FOLDER/"},
    {"save-dir", "-o", " FOLDER/"},
    {"save-engine", "-o", ""},
    {"saveEngine", "-o", ""},
    {"save-txt", "--json", ""},
    {"exportTimes", "--json", ""},
    {"fp16", "--precision", " fp16"},
    {"half", "--precision", " fp16"},
    {"bf16", "--precision", " bf16"},
    {"fp32", "--precision", " fp32"},
    {"noTF32", "--exact", ""},
    {"imgsz", "--size", " WIDTHxHEIGHT"},
    {"img", "--size", " WIDTHxHEIGHT"},
    {"img-size", "--size", " WIDTHxHEIGHT"},
    {"input-size", "--size", " WIDTHxHEIGHT"},
    {"vid-stride", "--stride", ""},
    {"skip", "--stride", ""},
    {"ss", "--start", ""},
    {"to", "--end", ""},
    {"t", "--end", ""},
    {"vframes", "--frames", ""},
    {"frames:v", "--frames", ""},
    {"max-frames", "--frames", ""},
    {"r", "--fps", ""},
    {"fps", "--fps", ""},
    {"rate", "--fps", ""},
    {"workers", "--threads", ""},
    {"num-threads", "--threads", ""},
    {"gpu", "--device", " cuda:0"},
    {"cuda", "--device", " cuda:0"},
    {"cpu", "--device", " cpu"},
    {"useDLACore", "--device", ""},
    {"shapes", "--shape", ""},
    {"input-shapes", "--shape", ""},
    {"minShapes", "--profile", " INPUT=MIN:OPT:MAX"},
    {"optShapes", "--profile", " INPUT=MIN:OPT:MAX"},
    {"maxShapes", "--profile", " INPUT=MIN:OPT:MAX"},
    {"trt-min-shapes", "--profile", " INPUT=MIN:OPT:MAX"},
    {"b:v", "--bit-rate", ""},
    {"bitrate", "--bit-rate", ""},
    {"vcodec", "--codec", ""},
    {"pix-fmt", "--pixel-format", ""},
    {"loop", "--plays", ""},
    {"an", "--no-audio", ""},
    {"sn", "--no-subtitles", ""},
    {"quiet", "--quiet", ""},
};

/// Options without an equivalent here, with advice. `command`: only for this one.
struct Advice {
  std::string_view foreign, text, command = {};
};

constexpr Advice advice[] = {
    {"o", "the output needs no option: lanner transcode INPUT OUTPUT", "transcode"},
    {"output", "the output needs no option: lanner transcode INPUT OUTPUT", "transcode"},
    {"i", "the input needs no option: lanner transcode INPUT OUTPUT", "transcode"},
    {"i", "the clip needs no option: lanner decode CLIP", "decode"},
    {"i", "the file needs no option: lanner probe FILE", "probe"},
    {"loglevel", "only errors and warnings are printed; -q leaves the answers out"},
    {"v", "only errors and warnings are printed; -q leaves the answers out"},
    {"verbose", "lanner explain shows what was decided and why"},
    {"hide_banner", "there is no banner; leave it out"},
    {"hide-banner", "there is no banner; leave it out"},
    {"y", "outputs always replace existing files; leave it out"},
    {"model", "the model needs no option: lanner run MODEL -i INPUT"},
    {"onnx", "the model needs no option: lanner bench MODEL"},
    {"loadEngine", "a plan needs no option: lanner bench PLAN"},
    {"int8", "a model that was quantised keeps its types; there is no option for it"},
    {"best", "list the allowed types: --precision fp32,fp16"},
    {"show", "there is no display; -o writes annotated images, -o - sends them to a player: ... -o - "
             "| mpv -"},
    {"view-img", "there is no display; -o writes annotated images, -o - sends them to a player: ... "
                 "-o - | mpv -"},
    {"stream", "frames are always streamed; leave it out"},
    {"ngl", "layers stay on one device unless --place moves them"},
};

} // namespace

std::string foreign_meaning(std::string_view name, std::string_view command,
                            const std::vector<std::string>& options) {
  const std::string text = plain(name);
  for (const Meaning& meaning : meanings) {
    const bool here = std::ranges::find(options, meaning.option) != options.end();
    if (plain(meaning.foreign) == text && here)
      return fmt::format("; did you mean {}{}?", meaning.option, meaning.rest);
  }
  for (const Advice& one : advice)
    if (plain(one.foreign) == text && (one.command.empty() || one.command == command))
      return fmt::format("; {}", one.text);
  return {};
}

std::optional<std::string> with_two_dashes(std::string_view argument) {
  const bool one_dash = argument.size() > 2 && argument[0] == '-' && argument[1] != '-';
  if (!one_dash) return std::nullopt;
  const std::string text = plain(argument);
  const auto is_it = [&](std::string_view foreign) { return plain(foreign) == text; };
  if (std::ranges::none_of(meanings, is_it, &Meaning::foreign) &&
      std::ranges::none_of(advice, is_it, &Advice::foreign))
    return std::nullopt;
  return "-" + std::string(argument);
}

} // namespace lanner::tool
