// Videos of the C interface.

#include <cmath>

#include <lanner/option_table.h>

#include "boundary.h"
#include "handles.h"

namespace lanner::c {
namespace {

int quarter_turns(double rotation) {
  return static_cast<int>(std::lround(rotation / 90) % 4);
}

VideoReaderOptions options_of(const lanner_video_options* options) {
  const lanner_video_options given = read_options(options);
  VideoReaderOptions result;
  take_options(reader_option_table(), given, result);
  return result;
}

/// Upright, as answers and drawings refer to it.
lanner_image* give(const Frame& frame, lanner_frame_info* info) {
  std::unique_ptr<lanner_image> image(
      new lanner_image{rotated_image(frame.image, quarter_turns(frame.rotation))});
  write_struct(info, {0, frame.index, frame.pts, frame.duration, frame.time_base.num, frame.time_base.den,
                      frame.key, frame.corrupt});
  return image.release();
}

} // namespace
} // namespace lanner::c

using namespace lanner;

lanner_status lanner_video_open(const char* path, const lanner_video_options* options, lanner_video** video,
                                lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(video, "video") = nullptr;
    const VideoReaderOptions wanted = c::options_of(options);
    *video = new lanner_video{VideoReader(open_path(c::text(path, "path"), wanted.demuxer.limits), wanted)};
  });
}

lanner_status lanner_video_describe(const lanner_video* video, lanner_video_info* info,
                                    lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(info, "info");
    const lanner_video& own = c::required(video, "video");
    const StreamInfo& stream = own.reader.stream();
    lanner_video_info facts{0,
                            stream.width,
                            stream.height,
                            stream.codec.c_str(),
                            stream.average_rate.num,
                            stream.average_rate.den,
                            own.duration};
    if (c::quarter_turns(stream.rotation) % 2 != 0) std::swap(facts.width, facts.height);
    c::write_struct(info, facts);
  });
}

lanner_status lanner_video_frame_count(lanner_video* video, int64_t* count, lanner_error** error) noexcept {
  return c::guarded(error, [&] { c::required(count, "count") = c::required(video, "video").reader.size(); });
}

lanner_status lanner_video_read(lanner_video* video, int64_t index, lanner_image** image,
                                lanner_frame_info* info, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(image, "image") = nullptr;
    *image = c::give(c::required(video, "video").reader.at(index), info);
  });
}

lanner_status lanner_video_next(lanner_video* video, lanner_image** image, lanner_frame_info* info,
                                lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(image, "image") = nullptr;
    if (const auto frame = c::required(video, "video").reader.next()) *image = c::give(*frame, info);
  });
}

void lanner_video_destroy(lanner_video* video) noexcept {
  delete video;
}
