#pragma once
// A picture as the operator `picture` reads it: a record of fixed size that says where its planes lie, so
// that its own size is no part of the operator's shapes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "image/cuda/preprocess_kernel.h"

namespace lanner {

/// Of one record; what is left over is zeros.
inline constexpr std::int64_t picture_record_bytes = 1024;

/// Holds addresses: right as long as the picture's planes are where they were.
struct PictureRecord {
  DevicePicture gpu; ///< With the process's seal; parameters only where it was made for a GPU.
  std::array<std::byte*, 3> planes{};
  std::array<std::int64_t, 3> pitches{};
  std::int32_t width = 0, height = 0;
  PixelFormat format = PixelFormat::rgb24;
  ColorInfo color;
  Device device; ///< Of the planes.
  PixelRect region;
  std::int32_t quarter_turns = 0;
};
static_assert(sizeof(PictureRecord) <= static_cast<std::size_t>(picture_record_bytes));
static_assert(std::is_trivially_copyable_v<PictureRecord> && offsetof(PictureRecord, gpu) == 0);

/// Drawn at random by each process: what does not bear it was not made here, and its addresses mean nothing.
std::uint64_t picture_seal();

/// Of a picture for a network: region and turns are `spec`'s.
PictureRecord record_of(const Image& image, const Preprocess& spec);
void write_record(const PictureRecord& record, std::byte* memory);
/// Throws Error{invalid_argument} for what this process did not make.
PictureRecord read_record(const std::byte* memory);

/// The picture, which owns nothing, and what `spec` becomes for it.
Image picture_of(const PictureRecord& record);
Preprocess preprocess_for(const PictureRecord& record, const Preprocess& spec);

} // namespace lanner
