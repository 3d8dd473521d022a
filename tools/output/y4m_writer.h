#pragma once
// Uncompressed video with a header, which most programs can read from a pipe.

#include <lanner/image.h>
#include <lanner/packet.h>

#include "output/byte_output.h"

namespace lanner::tool {

/// YUV4MPEG2, 4:2:0 of 8 bits with chroma at the left, limited range; frames are evenly spaced.
class Y4mWriter {
public:
  Y4mWriter(ByteOutput& output, Rational rate, Rational sample_aspect);
  /// Images must have one size; any format.
  void write(const Image& image);

private:
  ByteOutput& output_;
  Rational rate_, sample_aspect_;
  bool begun_ = false;
};

} // namespace lanner::tool
