#include "emulated_gpu/tensor_boxes.h"

#include <cstdint>
#include <cstring>

namespace emulated {
namespace {

constexpr int type_f16 = 6, type_bf16 = 9, swizzle_128 = 3;

bool takes(const TensorGiven& given) {
  if (reinterpret_cast<std::uintptr_t>(given.memory) % 16 != 0 || given.rank < 3 || given.rank > 4)
    return false;
  if ((given.type != type_f16 && given.type != type_bf16) || given.swizzle != swizzle_128) return false;
  for (unsigned i = 0; i < given.rank; ++i)
    if (given.dims[i] < 1 || given.steps[i] < 1 || given.steps[i] > 8) return false;
  for (unsigned i = 0; i + 1 < given.rank; ++i)
    if (given.strides[i] < 1 || given.strides[i] % 16 != 0) return false;
  return true;
}

TensorBoxes begun(const TensorGiven& given) {
  TensorBoxes boxes{};
  boxes.memory = static_cast<const unsigned char*>(given.memory);
  boxes.rank = given.rank;
  for (unsigned i = 0; i < given.rank; ++i) boxes.dims[i] = given.dims[i];
  for (unsigned i = 0; i + 1 < given.rank; ++i) boxes.strides[i] = given.strides[i];
  return boxes;
}

} // namespace

bool encode_tiled(void* map, const TensorGiven& given, const std::uint32_t* box) {
  if (!takes(given) || given.rank != 3 || box[0] != 64) return false;
  TensorBoxes boxes = begun(given);
  for (int i = 0; i < 3; ++i) {
    if (box[i] < 1 || box[i] > 256 || given.steps[i] != 1) return false;
    boxes.box[i] = box[i];
  }
  std::memcpy(map, &boxes, sizeof boxes);
  return true;
}

bool encode_images(void* map, const TensorGiven& given, const int* lower, const int* upper,
                   std::uint32_t channels, std::uint32_t positions) {
  if (!takes(given) || given.rank != 4 || channels != 64 || positions < 1 || positions > 1024) return false;
  TensorBoxes boxes = begun(given);
  boxes.box[0] = channels;
  boxes.positions = positions;
  for (int i = 0; i < 2; ++i) {
    if (lower[i] < -128 || lower[i] > 127 || upper[i] < -128 || upper[i] > 127) return false;
    boxes.lower[i] = lower[i];
    boxes.upper[i] = upper[i];
    boxes.steps[i] = given.steps[i + 1];
  }
  std::memcpy(map, &boxes, sizeof boxes);
  return true;
}

} // namespace emulated
