#include "video/ffmpeg/write/stream_side_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>

#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/pixel_format.h"
#include "video/ffmpeg/stream_end.h"
#include "video/ffmpeg/write/av_demuxer.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/mastering_display_metadata.h>
}

namespace lanner::ffmpeg {

namespace {

constexpr int chromaticity_units = 50000, luminance_units = 10000; // Of H.265 D.3.28.

struct Free {
  void operator()(void* memory) const { av_free(memory); }
};

constexpr std::array<double, 2> MasteringDisplay::*primaries[] = {
    &MasteringDisplay::red, &MasteringDisplay::green, &MasteringDisplay::blue};

double number_of(AVRational value) {
  return value.den == 0 ? 0 : av_q2d(value);
}

MasteringDisplay mastering_of(const AVMasteringDisplayMetadata& from) {
  MasteringDisplay display;
  if (from.has_primaries) {
    for (std::size_t color = 0; color < 3; ++color)
      for (std::size_t axis = 0; axis < 2; ++axis)
        (display.*primaries[color])[axis] = number_of(from.display_primaries[color][axis]);
    for (std::size_t axis = 0; axis < 2; ++axis) display.white[axis] = number_of(from.white_point[axis]);
  }
  if (from.has_luminance) {
    display.max_luminance = number_of(from.max_luminance);
    display.min_luminance = number_of(from.min_luminance);
  }
  return display;
}

AVRational rational(double value, int units) {
  return {static_cast<int>(std::lround(std::clamp(value, 0.0, 200000.0) * units)), units};
}

void fill(AVMasteringDisplayMetadata& to, const MasteringDisplay& display) {
  for (std::size_t color = 0; color < 3; ++color)
    for (std::size_t axis = 0; axis < 2; ++axis)
      to.display_primaries[color][axis] = rational((display.*primaries[color])[axis], chromaticity_units);
  for (std::size_t axis = 0; axis < 2; ++axis)
    to.white_point[axis] = rational(display.white[axis], chromaticity_units);
  to.max_luminance = rational(display.max_luminance, luminance_units);
  to.min_luminance = rational(display.min_luminance, luminance_units);
  to.has_primaries = display.white[0] > 0;
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
  light->MaxCLL = hdr.light->max;
  light->MaxFALL = hdr.light->average;
  add_stream_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, light.get(), size);
}

void set_display(AVStream& stream, bool mirror, double rotation) {
  std::int32_t matrix[9];
  av_display_rotation_set(matrix, rotation); // Clockwise here, while av_display_rotation_get() is not.
  if (mirror)                                // Comes first: the picture's x axis is turned round.
    for (const int i : {0, 1}) matrix[i] = -matrix[i];
  add_stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, matrix, sizeof matrix);
}

StreamFacts facts_of(const AVFormatContext& context, const AVStream& stream) {
  StreamFacts facts;
  facts.attached_picture = stream.disposition & AV_DISPOSITION_ATTACHED_PIC;
  facts.chapters = static_cast<int>(context.nb_chapters);
  facts.fields = field_order(*stream.codecpar);
  facts.hdr = hdr_of(stream);
  facts.end = stream_end(context, stream);
  return facts;
}

StreamFacts stream_facts(const Demuxer& demuxer, int stream) {
  StreamFacts facts = facts_of(av_context_of(demuxer), av_stream_of(demuxer, stream));
  facts.alpha_left_out = dynamic_cast<const AvDemuxer&>(demuxer).alpha_left_out(stream);
  return facts;
}

} // namespace lanner::ffmpeg
