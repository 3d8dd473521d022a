#include "video/ffmpeg/write/palette.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <new>

#include <fmt/format.h>

#include "base/check.h"

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
}

namespace lanner::ffmpeg {

namespace {

constexpr std::size_t most_bytes = std::size_t{256} << 20;
constexpr std::size_t bytes_per_pixel = 4;

struct FilterOption {
  std::string_view filter, name;
};
constexpr FilterOption filter_options[] = {
    {"palettegen", "max_colors"},
    {"palettegen", "stats_mode"},
    {"palettegen", "reserve_transparent"},
    {"palettegen", "transparency_color"},
    {"paletteuse", "dither"},
    {"paletteuse", "bayer_scale"},
    {"paletteuse", "diff_mode"},
    {"paletteuse", "alpha_threshold"},
};

bool is_plain(std::string_view value) {
  return !value.empty() && std::ranges::all_of(value, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '#' || c == '-';
  });
}

} // namespace

bool is_palette_option(std::string_view name) noexcept {
  return std::ranges::find(filter_options, name, &FilterOption::name) != std::end(filter_options);
}

void PaletteMapper::GraphFree::operator()(AVFilterGraph* graph) const {
  avfilter_graph_free(&graph);
}

PaletteMapper::PaletteMapper(std::int32_t width, std::int32_t height, const FilterOptions& options)
    : width_(width), height_(height), options_(options),
      most_(std::max<std::size_t>(1, most_bytes / bytes_per_pixel / static_cast<std::size_t>(width) /
                                         static_cast<std::size_t>(height))) {
  const auto mode = options_.find("stats_mode");
  if (mode != options_.end() && mode->second == "single") most_ = 1;
  build();
}

PaletteMapper::~PaletteMapper() = default;

void PaletteMapper::require(int status) const {
  check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::internal,
        "encode: palette: {}", error_text(status));
}

std::string PaletteMapper::arguments_of(std::string_view filter, const std::string& first) const {
  std::string text = first;
  for (const FilterOption& option : filter_options) {
    const auto given = options_.find(std::string(option.name));
    if (option.filter != filter || given == options_.end()) continue;
    check(is_plain(given->second), ErrorCode::invalid_argument, "encoder gif: {} '{}': expected one word",
          option.name, given->second);
    text += fmt::format("{}{}={}", text.empty() ? "" : ":", option.name, given->second);
  }
  return text;
}

AVFilterContext* PaletteMapper::add(const char* filter, const char* name, const std::string& arguments) {
  const AVFilter* type = avfilter_get_by_name(filter);
  check(type != nullptr, ErrorCode::unsupported, "encoder gif: this FFmpeg has no filter {}", filter);
  AVFilterContext* made = nullptr;
  clear_logged_error();
  const int status =
      avfilter_graph_create_filter(&made, type, name, arguments.c_str(), nullptr, graph_.get());
  check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
        "encoder gif: {} refuses {}: {}", filter, arguments, error_text(status));
  return made;
}

/// The palette is ready when the graph has got its last picture: until then it holds all of them.
void PaletteMapper::build() {
  graph_.reset(avfilter_graph_alloc());
  if (!graph_) throw std::bad_alloc();
  const std::string input = fmt::format("video_size={}x{}:pix_fmt={}:time_base=1/1000:pixel_aspect=1/1",
                                        width_, height_, static_cast<int>(AV_PIX_FMT_BGRA));
  source_ = add("buffer", "in", input);
  AVFilterContext* split = add("split", "split", "2");
  AVFilterContext* made = add("palettegen", "palettegen", arguments_of("palettegen"));
  // What does not change keeps its pixels.
  const bool told = options_.contains("diff_mode");
  AVFilterContext* used =
      add("paletteuse", "paletteuse", arguments_of("paletteuse", told ? "" : "diff_mode=rectangle"));
  sink_ = add("buffersink", "out", "");
  require(avfilter_link(source_, 0, split, 0));
  require(avfilter_link(split, 0, made, 0));
  require(avfilter_link(split, 1, used, 0));
  require(avfilter_link(made, 0, used, 1));
  require(avfilter_link(used, 0, sink_, 0));
  require(avfilter_graph_config(graph_.get(), nullptr));
  held_ = 0;
  ended_ = false;
}

void PaletteMapper::send(FramePtr frame) {
  if (ended_) build(); // The pictures before were received.
  require(av_buffersrc_add_frame(source_, frame.get()));
  if (++held_ >= most_) send_end();
}

void PaletteMapper::send_end() {
  if (ended_ || held_ == 0) return;
  ended_ = true;
  require(av_buffersrc_add_frame(source_, nullptr));
}

FramePtr PaletteMapper::receive() {
  if (!ended_ || held_ == 0) return nullptr;
  FramePtr frame = make_frame();
  const int status = av_buffersink_get_frame(sink_, frame.get());
  if (status == AVERROR_EOF) held_ = 0;
  if (status == AVERROR(EAGAIN) || status == AVERROR_EOF) return nullptr;
  require(status);
  return frame;
}

} // namespace lanner::ffmpeg
