#pragma once
// Writes a warp's interleaved pixels as whole words.

namespace lanner {

/// Copies the `bytes` that 32 lanes have put into `staged` (aligned to 4 bytes) to `out`, aligned likewise.
/// All lanes of the warp call it.
__device__ inline void write_staged(unsigned char* out, const unsigned char* staged, int bytes, int lane) {
  __syncwarp();
  for (int word = lane; word < bytes / 4; word += 32)
    reinterpret_cast<unsigned*>(out)[word] = reinterpret_cast<const unsigned*>(staged)[word];
  const int left = bytes / 4 * 4 + lane;
  if (left < bytes) out[left] = staged[left];
}

} // namespace lanner
