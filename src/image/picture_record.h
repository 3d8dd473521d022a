#pragma once
// A picture in the form that the operator `preprocess_images` reads: a record of fixed size with the
// addresses of its planes, so that the picture's size is not part of the operator's shapes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "image/cuda/preprocess_kernel.h"

namespace lanner {

/// Size of one record; the rest of it is zeros.
inline constexpr std::int64_t picture_record_bytes = 1024;

/// Holds addresses: valid as long as the picture's planes stay where they are.
struct PictureRecord {
  DevicePicture gpu; ///< With the process's seal; parameters only where it was made for a GPU.
  std::array<std::byte*, 3> planes{};
  std::array<std::int64_t, 3> pitches{};
  std::int32_t width = 0, height = 0;
  PixelFormat format = PixelFormat::rgb24;
  ColorInfo color;
  Device device; ///< Device of the planes.
  PixelRect region;
  std::int32_t quarter_turns = 0;
};
static_assert(sizeof(PictureRecord) <= static_cast<std::size_t>(picture_record_bytes));
static_assert(std::is_trivially_copyable_v<PictureRecord> && offsetof(PictureRecord, gpu) == 0);

/// Random for each process: a record without it was not made here, and its addresses are invalid.
std::uint64_t picture_seal();

/// The record of a picture for a network, with the region and rotation of `spec`.
PictureRecord record_of(const Image& image, const Preprocess& spec);
void write_record(const PictureRecord& record, std::byte* memory);
/// Throws Error{invalid_argument} for a record that this process did not make.
PictureRecord read_record(const std::byte* memory);

/// The record's picture, which owns nothing, and `spec` with the record's region and rotation.
Image picture_of(const PictureRecord& record);
Preprocess preprocess_for(const PictureRecord& record, const Preprocess& spec);

} // namespace lanner
