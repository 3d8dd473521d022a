#include "commands/explain_clip.h"

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "interrupt.h"
#include "options/limit_option.h"
#include "options/reader_options.h"
#include "output/console.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

constexpr std::pair<EntryPoint, std::string_view> meanings[] = {
    {EntryPoint::clean, "all state is reset (IDR, keyframe)"},
    {EntryPoint::broken_link, "like clean; leading pictures are left out (BLA)"},
    {EntryPoint::open, "exact from its own picture on (CRA, open GOP)"},
    {EntryPoint::recovery, "recovery point that the stream declares exact"},
    {EntryPoint::inexact, "keyframe or recovery point not declared exact: decoding does not begin there"},
};

bool is_entry(EntryPoint entry) {
  return entry != EntryPoint::none && entry != EntryPoint::inexact;
}

Json entries_json(const StreamIndex& index) {
  Json json = Json::object();
  for (const auto& [kind, meaning] : meanings) {
    const auto count = std::ranges::count(index.frames, kind, &IndexEntry::entry);
    if (count > 0) json[std::string(to_string(kind))] = count;
  }
  return json;
}

/// Frames between consecutive points where decoding may begin.
Json spans_json(const StreamIndex& index) {
  std::int64_t spans = 0, longest = 0, length = 0;
  for (const IndexEntry& frame : index.frames) {
    const bool begins = is_entry(frame.entry) || spans == 0;
    spans += begins;
    length = begins ? 1 : length + 1;
    longest = std::max(longest, length);
  }
  return {{"count", spans}, {"longest", longest}};
}

Json clip_json(const std::string& path, const ReaderOptions& options) {
  VideoReaderOptions concealed = to_reader_options(options);
  concealed.decoder.raise_on_error = false;
  VideoReader reader(open_path(path, given_limits()), concealed);
  const StreamInfo& stream = reader.stream();
  const auto index = reader.index();
  return {{"clip", path},
          {"format", reader.demuxer().format()},
          {"stream", stream.index},
          {"codec", stream.codec},
          {"profile", stream.profile},
          {"width", stream.width},
          {"height", stream.height},
          {"pixel_format", stream.native_format},
          {"layers", stream.layers},
          {"decoder", reader.decoder_description()},
          {"reason", reader.decoder_reason()},
          {"frames", index->frames.size()},
          {"entries", entries_json(*index)},
          {"spans", spans_json(*index)}};
}

std::string text_of(const Json& clip) {
  const auto text = [&](const char* key) { return one_line(clip[key].get<std::string>()); };
  std::string result = fmt::format("{}: {}, stream {}: {} {}, {}x{} {}\n", text("clip"), text("format"),
                                   clip["stream"].get<int>(), text("codec"), text("profile"),
                                   clip["width"].get<int>(), clip["height"].get<int>(), text("pixel_format"));
  if (clip["layers"].get<int>() > 1)
    result += fmt::format("  scalable, {} layers: {} is decoded\n", clip["layers"].get<int>(),
                          clip["codec"] == "av1" ? "the highest operating point" : "the base layer");
  result += fmt::format("  decoder  {}\n  because  {}\n", text("decoder"), text("reason"));
  result += fmt::format("  frames   {}, in {} spans of at most {} that decode on their own\n",
                        clip["frames"].get<std::int64_t>(), clip["spans"]["count"].get<std::int64_t>(),
                        clip["spans"]["longest"].get<std::int64_t>());
  for (const auto& [kind, meaning] : meanings)
    if (const auto found = clip["entries"].find(to_string(kind)); found != clip["entries"].end())
      result += fmt::format("  {:>8} {}: {}\n", found->get<std::int64_t>(), to_string(kind), meaning);
  return result;
}

} // namespace

void explain_clip(const std::string& path, const ReaderOptions& options, bool json) {
  about("explain", path, [&] {
    const Json clip = clip_json(path, options);
    if (json)
      print_json(clip);
    else
      print_text(text_of(clip));
  });
}

} // namespace lanner::tool
