#pragma once
// What streams say beside their codec: brightness, fields, how players turn them.

#include <lanner/hdr.h>

#include "video/ffmpeg/av.h"
#include "video/write/stream_facts.h"

namespace lanner::ffmpeg {

HdrMetadata hdr_of(const AVStream& stream);
void set_hdr(AVStream& stream, const HdrMetadata& hdr);
/// Players mirror the pictures left to right, then turn them clockwise by `rotation` degrees.
void set_display(AVStream& stream, bool mirror, double rotation);
StreamFacts facts_of(const AVFormatContext& context, const AVStream& stream);

} // namespace lanner::ffmpeg
