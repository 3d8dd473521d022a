#pragma once
// Samples of input pictures.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "video/nvenc/nvenc_api.h"

namespace lanner::fake_nvenc {

/// What a buffer format is; `depth` 0 of one that is no picture's.
struct FormatFacts {
  unsigned depth = 0;
  unsigned chroma = 0; ///< chroma_format_idc: 1 for 4:2:0, 3 for 4:4:4.
  bool packed = false; ///< One plane of 32-bit words.
  unsigned sample_bytes() const { return packed ? 4 : depth > 8 ? 2 : 1; }
};
FormatFacts facts_of(nvenc::NV_ENC_BUFFER_FORMAT format);

/// Bytes of a picture whose rows lie `pitch` bytes apart; planar chroma of 4:2:0 has half of the pitch.
std::size_t bytes_of(nvenc::NV_ENC_BUFFER_FORMAT format, std::uint32_t pitch, std::uint32_t height);

/// A picture in memory.
struct PictureView {
  const std::uint8_t* data = nullptr;
  nvenc::NV_ENC_BUFFER_FORMAT format = nvenc::NV_ENC_BUFFER_FORMAT_UNDEFINED;
  std::uint32_t width = 0, height = 0, pitch = 0;
  std::uint32_t rows = 0; ///< Of the first plane: the next begins behind them.
};

/// Planes of samples, Y, U, V, in whole blocks; what lies outside of the picture repeats its edge.
struct Samples {
  unsigned width = 0, height = 0; ///< Coded: multiples of the block.
  unsigned depth = 8, chroma = 1;
  std::array<std::vector<std::uint16_t>, 3> planes;
  unsigned shift(unsigned plane) const { return plane > 0 && chroma == 1 ? 1 : 0; }
  std::uint16_t at(unsigned plane, unsigned x, unsigned y) const {
    return planes[plane][static_cast<std::size_t>(y) * (width >> shift(plane)) + x];
  }
};

/// Reads a picture for a stream of 4:2:0 (`chroma` 1) or 4:4:4 (3) of `depth` bits. RGB becomes BT.709 where
/// `matrix` says so, else BT.601, in limited range unless `full`; 4:4:4 of AYUV is averaged for 4:2:0.
struct SampleForm {
  unsigned chroma = 1, depth = 8;
  nvenc::NV_ENC_VUI_MATRIX_COEFFS matrix = nvenc::NV_ENC_VUI_MATRIX_COEFFS_UNSPECIFIED;
  bool full = false;
  unsigned block = 16;
};
Samples read_samples(const PictureView& picture, const SampleForm& form);

/// Of the picture's samples, to see whether they change.
std::uint64_t hash_of(const PictureView& picture);

} // namespace lanner::fake_nvenc
