#pragma once
// What the emulated driver writes into a tensor map, and the emulated copy engine reads from it.

#include <stdint.h>

namespace emulated {

struct TensorBoxes {
  const unsigned char* memory;
  uint64_t dims[4];
  uint64_t strides[3]; ///< Bytes between neighbours along axes 1 to 3.
  uint32_t rank;
  uint32_t box[3];    ///< Elements along each axis; of images only the channels.
  uint32_t positions; ///< Of images: pixels in a box; else 0.
  int32_t lower[2], upper[2];
  uint32_t steps[2];
};
static_assert(sizeof(TensorBoxes) <= 128, "a tensor map has 128 bytes");

/// What is common to the driver's functions that write tensor maps; strides are bytes.
struct TensorGiven {
  int type;
  uint32_t rank;
  const void* memory;
  const uint64_t* dims;
  const uint64_t* strides;
  const uint32_t* steps;
  int swizzle;
};
/// False where the driver would refuse, and for what the emulated copy engine does not know.
bool encode_tiled(void* map, const TensorGiven& given, const uint32_t* box);
bool encode_images(void* map, const TensorGiven& given, const int* lower, const int* upper, uint32_t channels,
                   uint32_t positions);

} // namespace emulated
