// Conversion between two images: one thread per pixel where the target has no subsampled chroma, else one
// thread per chroma sample with its pixels.

#include "convert_kernel.h"
#include "staged_row.h"

namespace {

constexpr int across = 32, down = 4;

} // namespace

/// Grid and block cover the picture; a block is 32 by 4.
extern "C" __global__ void lanner_convert_pixels(const __grid_constant__ lanner::DeviceConvert p) {
  __shared__ unsigned staged[down][across * 2];
  const int left = blockIdx.x * across, x = left + threadIdx.x, y = blockIdx.y * down + threadIdx.y;
  if (y >= p.height) return;
  unsigned samples[3];
  if (x < p.width) lanner::convert_pixel(p, x, y, samples);
  if (!p.words) {
    if (x >= p.width) return;
    for (int c = 0; c < p.parts; ++c) lanner::put(p.to, c, x, y, samples[c]);
    if (p.pixel == 4)
      p.to.components[0].data[y * p.to.components[0].pitch + 4ll * x + 3] = lanner::alpha_under(p, x, y);
    return;
  }
  auto* row = reinterpret_cast<unsigned char*>(staged[threadIdx.y]);
  unsigned char* pixel = row + threadIdx.x * p.pixel;
  for (int c = 0; c < 3 && x < p.width; ++c) {
    const int at = p.to.components[c].first;
    if (p.to.bytes == 1)
      pixel[at] = static_cast<unsigned char>(samples[c]);
    else
      reinterpret_cast<unsigned short*>(pixel)[at] = static_cast<unsigned short>(samples[c]);
  }
  if (p.pixel == 4 && x < p.width) pixel[3] = lanner::alpha_under(p, x, y);
  const int pixels = p.width - left < across ? p.width - left : across;
  unsigned char* out =
      p.to.components[0].data + y * p.to.components[0].pitch + static_cast<long long>(left) * p.pixel;
  lanner::write_staged(out, row, pixels * p.pixel, threadIdx.x);
}

/// Grid and block cover the target's chroma.
extern "C" __global__ void lanner_convert_chroma(const __grid_constant__ lanner::DeviceConvert p) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < p.to.components[1].width && y < p.to.components[1].height) lanner::convert_chroma(p, x, y);
}
