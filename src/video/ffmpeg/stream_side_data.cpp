#include "video/ffmpeg/stream_side_data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>

#include "video/ffmpeg/av_demuxer.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/pixel_format.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/mastering_display_metadata.h>
}

namespace lanner::ffmpeg {

namespace {

constexpr int chromaticity_units = 50000, luminance_units = 10000;

struct Free {
  void operator()(void* memory) const { av_free(memory); }
};

template<typename Number>
Number in_units(AVRational value, int units) {
  if (value.den == 0) return 0;
  const double exact = std::round(av_q2d(value) * units);
  return static_cast<Number>(std::clamp(exact, 0.0, static_cast<double>(std::numeric_limits<Number>::max())));
}

MasteringDisplay mastering_of(const AVMasteringDisplayMetadata& from) {
  MasteringDisplay display;
  if (from.has_primaries) {
    for (std::size_t color = 0; color < 3; ++color)
      for (std::size_t axis = 0; axis < 2; ++axis)
        display.primaries[color][axis] =
            in_units<std::uint16_t>(from.display_primaries[color][axis], chromaticity_units);
    for (std::size_t axis = 0; axis < 2; ++axis)
      display.white_point[axis] = in_units<std::uint16_t>(from.white_point[axis], chromaticity_units);
  }
  if (from.has_luminance) {
    display.max_luminance = in_units<std::uint32_t>(from.max_luminance, luminance_units);
    display.min_luminance = in_units<std::uint32_t>(from.min_luminance, luminance_units);
  }
  return display;
}

AVRational rational(std::uint32_t value, int units) {
  return {static_cast<int>(std::min<std::uint32_t>(value, INT_MAX)), units};
}

void fill(AVMasteringDisplayMetadata& to, const MasteringDisplay& display) {
  for (std::size_t color = 0; color < 3; ++color)
    for (std::size_t axis = 0; axis < 2; ++axis)
      to.display_primaries[color][axis] = rational(display.primaries[color][axis], chromaticity_units);
  for (std::size_t axis = 0; axis < 2; ++axis)
    to.white_point[axis] = rational(display.white_point[axis], chromaticity_units);
  to.max_luminance = rational(display.max_luminance, luminance_units);
  to.min_luminance = rational(display.min_luminance, luminance_units);
  to.has_primaries = display.white_point[0] > 0;
  to.has_luminance = display.max_luminance > 0;
}

FieldOrder field_order(const AVCodecParameters& parameters) {
  const int order = code_of(parameters.field_order);
  if (order == AV_FIELD_TT || order == AV_FIELD_TB) return FieldOrder::top_first;
  if (order == AV_FIELD_BB || order == AV_FIELD_BT) return FieldOrder::bottom_first;
  return FieldOrder::progressive;
}

} // namespace

HdrMetadata hdr_of(const AVStream& stream) {
  HdrMetadata hdr;
  std::size_t size = 0;
  const auto* display = reinterpret_cast<const AVMasteringDisplayMetadata*>(
      stream_side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, size));
  if (display && size >= sizeof *display) hdr.mastering = mastering_of(*display);
  const auto* light = reinterpret_cast<const AVContentLightMetadata*>(
      stream_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, size));
  const auto bounded = [](unsigned value) { return static_cast<std::uint16_t>(std::min(value, 65535u)); };
  if (light && size >= sizeof *light)
    hdr.light = ContentLight{bounded(light->MaxCLL), bounded(light->MaxFALL)};
  return hdr;
}

void set_hdr(AVStream& stream, const HdrMetadata& hdr) {
  if (hdr.mastering) {
    const std::unique_ptr<AVMasteringDisplayMetadata, Free> display(av_mastering_display_metadata_alloc());
    if (!display) throw std::bad_alloc();
    fill(*display, *hdr.mastering);
    add_stream_side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, display.get(), sizeof *display);
  }
  if (!hdr.light) return;
  std::size_t size = 0;
  const std::unique_ptr<AVContentLightMetadata, Free> light(av_content_light_metadata_alloc(&size));
  if (!light) throw std::bad_alloc();
  light->MaxCLL = hdr.light->max_content;
  light->MaxFALL = hdr.light->max_average;
  add_stream_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, light.get(), size);
}

void set_display(AVStream& stream, bool mirror, double rotation) {
  std::int32_t matrix[9];
  av_display_rotation_set(matrix, -rotation); // FFmpeg's angle is counter-clockwise.
  if (mirror)                                 // Comes first: the picture's x axis is turned round.
    for (const int i : {0, 1}) matrix[i] = -matrix[i];
  add_stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, matrix, sizeof matrix);
}

StreamFacts facts_of(const AVFormatContext& context, const AVStream& stream) {
  StreamFacts facts;
  facts.attached_picture = stream.disposition & AV_DISPOSITION_ATTACHED_PIC;
  facts.chapters = static_cast<int>(context.nb_chapters);
  facts.fields = field_order(*stream.codecpar);
  facts.hdr = hdr_of(stream);
  return facts;
}

StreamFacts stream_facts(const Demuxer& demuxer, int stream) {
  return facts_of(av_context_of(demuxer), av_stream_of(demuxer, stream));
}

} // namespace lanner::ffmpeg
