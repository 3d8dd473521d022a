#include "device/cuda/tensor_map.h"

#include <algorithm>

#include "base/check.h"
#include "device/cuda/driver.h"

namespace lanner::cuda {
namespace {

// Numbers of the driver's enumerations.
constexpr int type_f16 = 6, type_bf16 = 9;
constexpr int no_interleave = 0, swizzle_128 = 3, l2_promotion_256 = 3, fill_zero = 0;

} // namespace

TensorMap tensor_map(const TensorBoxes& boxes, const void* memory) {
  TensorMap map;
  const int type = boxes.bfloat16 ? type_bf16 : type_f16;
  const auto rank = static_cast<unsigned>(boxes.rank);
  std::uint64_t dims[4], strides[3];
  std::uint32_t box[3], steps[4] = {1, 1, 1, 1};
  std::ranges::transform(boxes.dims, dims, [](std::int64_t n) { return static_cast<std::uint64_t>(n); });
  std::ranges::transform(boxes.strides, strides,
                         [](std::int64_t n) { return static_cast<std::uint64_t>(n) * 2; });
  std::ranges::transform(boxes.box, box, [](std::int64_t n) { return static_cast<std::uint32_t>(n); });
  void* const at = const_cast<void*>(memory);
  if (!boxes.images) {
    check(driver().tensor_map_tiled(&map, type, rank, at, dims, strides, box, steps, no_interleave,
                                    swizzle_128, l2_promotion_256, fill_zero),
          "cuTensorMapEncodeTiled");
    return map;
  }
  for (int i = 0; i < 2; ++i) steps[i + 1] = static_cast<std::uint32_t>(boxes.steps[i]);
  check(driver().tensor_map_images(&map, type, rank, at, dims, strides, boxes.lower, boxes.upper, box[0],
                                   static_cast<std::uint32_t>(boxes.positions), steps, no_interleave,
                                   swizzle_128, l2_promotion_256, fill_zero),
        "cuTensorMapEncodeIm2col");
  return map;
}

} // namespace lanner::cuda
