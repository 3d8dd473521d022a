#include "lower/check/trial_data.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "graph/storage/quantization.h"
#include "program/weights/packing.h"

namespace lanner {
namespace {

TEST(TrialData, RepeatsSubByteValues) {
  for (const DType type : {DType::i4, DType::u4, DType::i2, DType::u2}) {
    const bool two_bits = bit_width(type) == 2;
    std::vector<std::int32_t> numbers(3 * 5);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<std::int32_t>(i % (two_bits ? 2 : 7));
    const Tensor sample = pack(Tensor::from<std::int32_t>(numbers, {3, 5}), of_type(type));
    const Tensor all = pack(repeated(sample, {7, 5}, of_type(type), {}), of_type(DType::i32));
    for (std::size_t i = 0; i < 7 * 5; ++i)
      EXPECT_EQ(all.as<std::int32_t>()[i], numbers[i % numbers.size()]) << to_string(type) << " " << i;
  }
}

} // namespace
} // namespace lanner
