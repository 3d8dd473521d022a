#pragma once
// Pictures for encoders of a palette, such as GIF's, by FFmpeg's filters palettegen and paletteuse.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "video/ffmpeg/av.h"

struct AVFilterGraph;
struct AVFilterContext;

namespace lanner::ffmpeg {

using FilterOptions = std::map<std::string, std::string>;

/// Whether it is an option of one of the two filters, which codec_options may name.
bool is_palette_option(std::string_view name) noexcept;

/// Maps pictures to palettes of 256 colours, one of them transparent. A palette is made of as many pictures
/// as 256 MiB hold, so that most animations have one; with `stats_mode=single` each picture has its own.
class PaletteMapper {
public:
  /// Of all options those of the filters count. Throws Error{invalid_argument} for wrong values,
  /// Error{unsupported} where this FFmpeg lacks the filters.
  PaletteMapper(std::int32_t width, std::int32_t height, const FilterOptions& options);
  ~PaletteMapper();

  /// Takes a BGRA picture whose memory it owns, with any pts.
  void send(FramePtr frame);
  void send_end();
  /// The next picture in PAL8, with its pts; null where more pictures are needed.
  FramePtr receive();

private:
  struct GraphFree {
    void operator()(AVFilterGraph* graph) const;
  };
  void build();
  AVFilterContext* add(const char* filter, const char* name, const std::string& arguments);
  std::string arguments_of(std::string_view filter, const std::string& first = {}) const;
  void require(int status) const;

  std::int32_t width_, height_;
  FilterOptions options_;
  std::unique_ptr<AVFilterGraph, GraphFree> graph_;
  AVFilterContext *source_ = nullptr, *sink_ = nullptr; ///< Of the graph.
  std::size_t most_;                                    ///< Pictures with one palette.
  std::size_t held_ = 0;                                ///< Pictures in the graph, which are not mapped yet.
  bool ended_ = false;                                  ///< The graph got all of its pictures.
};

} // namespace lanner::ffmpeg
