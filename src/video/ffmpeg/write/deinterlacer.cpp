#include "video/write/deinterlacer.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/frame.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/pixel_format.h"

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
}

namespace lanner::ffmpeg {

namespace {

struct GraphFree {
  void operator()(AVFilterGraph* graph) const { avfilter_graph_free(&graph); }
};

PixelFormat rgb_planes(const PixelFormatInfo& facts) {
  if (facts.gray() && !facts.has_alpha()) return facts.bits > 8 ? PixelFormat::gray16 : PixelFormat::gray8;
  if (facts.has_alpha()) return facts.bits > 8 ? PixelFormat::gbrap16 : PixelFormat::gbrap;
  return facts.bits > 8 ? PixelFormat::gbrp16 : PixelFormat::gbrp;
}

/// The format that bwdif filters: it takes planar ones only.
PixelFormat filtered_format(PixelFormat format) {
  const PixelFormatInfo& facts = format_info(format);
  if (to_av(format) != AV_PIX_FMT_NONE && facts.planes == 3) return format;
  if (!facts.yuv) return rgb_planes(facts);
  constexpr PixelFormat planar[3][3] = {
      {PixelFormat::yuv420p, PixelFormat::yuv420p10, PixelFormat::yuv420p16},
      {PixelFormat::yuv422p, PixelFormat::yuv422p10, PixelFormat::yuv422p16},
      {PixelFormat::yuv444p, PixelFormat::yuv444p10, PixelFormat::yuv444p16}};
  const std::size_t chroma = facts.chroma_y ? 0 : facts.chroma_x ? 1 : 2;
  return planar[chroma][facts.bits <= 8 ? 0 : facts.bits <= 10 ? 1 : 2];
}

class FfmpegDeinterlacer final : public Deinterlacer {
public:
  FfmpegDeinterlacer() {
    check(avfilter_get_by_name("bwdif") != nullptr, ErrorCode::unsupported,
          "deinterlace: this FFmpeg has no filter bwdif");
  }

  void send(const Frame* frame) override {
    if (!frame) {
      if (source_) require(av_buffersrc_add_frame(source_, nullptr));
      return;
    }
    const Image& image = frame->image;
    if (!graph_) build(image);
    check(image.width == width_ && image.height == height_, ErrorCode::unsupported,
          "deinterlace: the size changes from {}x{} to {}x{}, which the filter does not take", width_,
          height_, image.width, image.height);
    Image input = image;
    if (image.format != format_ || !image.owner) {
      input = Image::allocate(format_, image.width, image.height);
      input.color = image.color;
      convert_image(image, input);
    }
    FramePtr given = to_av(input, to_av(format_));
    mark_fields(*given, frame->interlaced, frame->top_field_first);
    given->pts = next_;
    waiting_.emplace(next_++, *frame);
    waiting_.rbegin()->second.image = {};
    color_ = image.color;
    require(av_buffersrc_add_frame(source_, given.get()));
  }

  std::optional<Frame> receive() override {
    if (!sink_) return std::nullopt;
    FramePtr made = make_frame();
    const int status = av_buffersink_get_frame(sink_, made.get());
    if (status == AVERROR(EAGAIN) || status == AVERROR_EOF) return std::nullopt;
    require(status);
    const auto found = waiting_.find(made->pts / 2); // The filter counts in halves of its input's ticks.
    check(found != waiting_.end(), ErrorCode::internal, "deinterlace: a frame of an unknown time");
    Frame frame = std::move(found->second);
    waiting_.erase(waiting_.begin(), std::next(found));
    frame.image = to_image(std::move(made), Limits());
    frame.image.color = color_;
    frame.interlaced = frame.top_field_first = false;
    return frame;
  }

private:
  void require(int status) const {
    check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::internal,
          "deinterlace: {}", error_text(status));
  }

  void build(const Image& image) {
    format_ = filtered_format(image.format);
    width_ = image.width, height_ = image.height;
    graph_.reset(avfilter_graph_alloc());
    if (!graph_) throw std::bad_alloc();
    const std::string input = fmt::format("video_size={}x{}:pix_fmt={}:time_base=1/1000:pixel_aspect=1/1",
                                          width_, height_, static_cast<int>(to_av(format_)));
    AVFilterContext* filter = nullptr;
    require(avfilter_graph_create_filter(&source_, avfilter_get_by_name("buffer"), "in", input.c_str(),
                                         nullptr, graph_.get()));
    require(avfilter_graph_create_filter(&filter, avfilter_get_by_name("bwdif"), "bwdif",
                                         "mode=send_frame:deint=interlaced", nullptr, graph_.get()));
    require(avfilter_graph_create_filter(&sink_, avfilter_get_by_name("buffersink"), "out", nullptr, nullptr,
                                         graph_.get()));
    require(avfilter_link(source_, 0, filter, 0));
    require(avfilter_link(filter, 0, sink_, 0));
    require(avfilter_graph_config(graph_.get(), nullptr));
  }

  std::unique_ptr<AVFilterGraph, GraphFree> graph_;
  AVFilterContext *source_ = nullptr, *sink_ = nullptr; ///< Of the graph.
  PixelFormat format_ = PixelFormat::yuv420p;
  std::int32_t width_ = 0, height_ = 0;
  ColorInfo color_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, Frame> waiting_; ///< Without pictures, by their number.
};

} // namespace

std::unique_ptr<Deinterlacer> create_deinterlacer() {
  return std::make_unique<FfmpegDeinterlacer>();
}

} // namespace lanner::ffmpeg
