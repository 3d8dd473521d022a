// Rotation of pictures: one thread per pixel.

#include "rotate_kernel.h"

/// Grid and block cover the displayed plane.
extern "C" __global__ void lanner_rotate_plane(const __grid_constant__ lanner::RotatedPlane p) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < p.width && y < p.height) lanner::rotate_pixel(p, x, y);
}
