#pragma once
// Rotation of one plane, pixel by pixel, compiled for the GPU and, for tests, the host.

#include "host_device.h"

namespace lanner {

struct RotatedPlane {
  const unsigned char* from; ///< The first displayed pixel.
  long long right, down;     ///< Bytes in `from` per displayed pixel to the right and down.
  unsigned char* to;
  long long to_pitch;
  int width, height; ///< Displayed size.
  int pixel;         ///< Bytes per pixel: 1, 2, 3, 4, 6 or 8.
};

LANNER_HOST_DEVICE inline void rotate_pixel(const RotatedPlane& p, int x, int y) {
  const unsigned char* from = p.from + x * p.right + y * p.down;
  unsigned char* to = p.to + y * p.to_pitch + static_cast<long long>(x) * p.pixel;
  for (int i = 0; i < p.pixel; ++i) to[i] = from[i];
}

} // namespace lanner
