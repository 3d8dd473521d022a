#include "image/picture_record.h"

#include <cstring>
#include <random>

#include <lanner/error.h>

#include "base/check.h"
#include "image/planes.h"

namespace lanner {

std::uint64_t picture_seal() {
  static const std::uint64_t seal = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1; // never 0, as in zeroed memory
  }();
  return seal;
}

PictureRecord record_of(const Image& image, const Preprocess& spec) {
  PictureRecord record{};
  record.gpu.seal = picture_seal();
  for (std::size_t p = 0; p < image.planes.size(); ++p) {
    record.planes[p] = image.planes[p].data;
    record.pitches[p] = image.planes[p].pitch;
  }
  record.width = image.width, record.height = image.height;
  record.format = image.format;
  record.color = image.color;
  record.device = image.device;
  record.region = spec.region;
  record.quarter_turns = spec.quarter_turns;
  return record;
}

void write_record(const PictureRecord& record, std::byte* memory) {
  std::memset(memory, 0, static_cast<std::size_t>(picture_record_bytes));
  std::memcpy(memory, &record, sizeof record);
}

PictureRecord read_record(const std::byte* memory) {
  PictureRecord record{};
  std::memcpy(&record.gpu.seal, memory, sizeof record.gpu.seal);
  check(record.gpu.seal == picture_seal(), ErrorCode::invalid_argument,
        "picture: its record was not made by this process; bind an Image to the input");
  std::memcpy(&record, memory, sizeof record);
  return record;
}

Image picture_of(const PictureRecord& record) {
  Image image;
  image.format = record.format;
  image.width = record.width, image.height = record.height;
  shape_planes(image, 1);
  for (std::size_t p = 0; p < image.planes.size(); ++p) {
    image.planes[p].data = record.planes[p];
    image.planes[p].pitch = record.pitches[p];
  }
  image.color = record.color;
  image.device = record.device;
  return image;
}

Preprocess preprocess_for(const PictureRecord& record, const Preprocess& spec) {
  Preprocess own = spec;
  own.region = record.region;
  own.quarter_turns = record.quarter_turns;
  return own;
}

} // namespace lanner
