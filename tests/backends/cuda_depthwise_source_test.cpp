// Generated sources of depthwise convolutions, for each way to share the work, run on the host and compared
// with their definition in double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/convolution/depthwise_source.h"
#include "backends/cuda_sources.h"

namespace lanner::cuda {
namespace {

struct Axes {
  std::int64_t image[2], kernel[2], strides[2], dilations[2], begin[2], end[2];
};

Depthwise depthwise(std::int64_t batch, std::int64_t channels, const Axes& axes, DType type) {
  Depthwise conv;
  conv.batch = batch;
  conv.channels = channels;
  conv.type = type;
  for (std::size_t i = 0; i < 2; ++i) {
    conv.image[i] = axes.image[i];
    conv.kernel[i] = axes.kernel[i];
    conv.strides[i] = axes.strides[i];
    conv.dilations[i] = axes.dilations[i];
    conv.begin[i] = axes.begin[i];
    const std::int64_t span = (axes.kernel[i] - 1) * axes.dilations[i] + 1;
    conv.result[i] = (axes.image[i] + axes.begin[i] + axes.end[i] - span) / axes.strides[i] + 1;
  }
  return conv;
}

class CudaDepthwiseSources : public CudaSources {
protected:
  /// All shares; `off`: offset from an aligned address.
  void add_case(const Depthwise& conv, std::int64_t off = 0) {
    for (const DepthwiseShare& share : depthwise_shares(conv))
      add(depthwise_source(conv, share), "depthwise",
          [this, conv, share, off](std::size_t kernel) { check(kernel, conv, share, off); });
  }

private:
  void check(std::size_t kernel, const Depthwise& conv, const DepthwiseShare& share, std::int64_t off) {
    SCOPED_TRACE(fmt::format("{} channels, {}x{} by {}x{}, {}, {} channels of {} columns in {} lines", conv.channels,
                             conv.image[0], conv.image[1], conv.kernel[0], conv.kernel[1],
                             to_string(conv.type), share.channels, share.columns, share.lines));
    const std::int64_t pixels = conv.image[0] * conv.image[1], results = conv.result[0] * conv.result[1];
    Memory src(conv.type, conv.batch * pixels * conv.channels, off);
    Memory weights(conv.type, conv.kernel[0] * conv.kernel[1] * conv.channels);
    Memory out(conv.type, conv.batch * results * conv.channels);
    src.draw(random);
    weights.draw(random);
    void *of_src = src.data(), *of_weights = weights.data(), *of_out = out.data();
    const std::int64_t blocks = (depthwise_threads(conv, share) + depthwise_block - 1) / depthwise_block;
    ASSERT_TRUE(
        kernels.run(kernel, blocks, static_cast<int>(depthwise_block), {&of_src, &of_weights, &of_out}));
    for (std::int64_t i = 0; i < out.elements() && !HasFailure(); ++i) {
      const auto [sum, magnitude] = expected(conv, src, weights, i);
      EXPECT_NEAR(out.get(i), sum, tolerance(conv.type) * (1 + magnitude)) << "element " << i;
    }
    EXPECT_TRUE(out.fences_stand());
  }
  /// The sum, and the sum of its terms' magnitudes.
  static std::pair<double, double> expected(const Depthwise& conv, const Memory& src, const Memory& weights,
                                            std::int64_t i) {
    const std::int64_t c = i % conv.channels, x = i / conv.channels % conv.result[1],
                       y = i / conv.channels / conv.result[1] % conv.result[0],
                       n = i / conv.channels / conv.result[1] / conv.result[0];
    double sum = 0, magnitude = 0;
    for (std::int64_t ky = 0; ky < conv.kernel[0]; ++ky)
      for (std::int64_t kx = 0; kx < conv.kernel[1]; ++kx) {
        const std::int64_t iy = y * conv.strides[0] + ky * conv.dilations[0] - conv.begin[0],
                           ix = x * conv.strides[1] + kx * conv.dilations[1] - conv.begin[1];
        if (iy < 0 || iy >= conv.image[0] || ix < 0 || ix >= conv.image[1]) continue;
        const double term = src.get(((n * conv.image[0] + iy) * conv.image[1] + ix) * conv.channels + c) *
                            weights.get((ky * conv.kernel[1] + kx) * conv.channels + c);
        sum += term;
        magnitude += std::abs(term);
      }
    return {sum, magnitude};
  }
};

TEST_F(CudaDepthwiseSources, every_share_of_any_window) {
  const Axes windows[] = {
      {{9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},  {{14, 14}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}},
      {{13, 10}, {5, 3}, {2, 1}, {1, 1}, {2, 0}, {1, 2}}, {{12, 12}, {3, 3}, {2, 2}, {2, 2}, {2, 2}, {2, 2}},
      {{3, 2}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},   {{15, 15}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
      {{6, 29}, {1, 5}, {1, 3}, {1, 2}, {0, 4}, {0, 4}},  {{5, 5}, {5, 5}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
  };
  std::size_t at = 0;
  for (const Axes& window : windows)
    for (const std::int64_t channels : {16, 6, 7}) add_case(depthwise(2, channels, window, types[at++ % 3]));
  run_all();
}

TEST_F(CudaDepthwiseSources, unaligned_memory) {
  const Axes window{{9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  for (const DType type : types) add_case(depthwise(1, 32, window, type), 1);
  run_all();
}

TEST_F(CudaDepthwiseSources, shares_divide_the_channels_and_differ) {
  const Axes window{{56, 56}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}};
  for (const DType type : types)
    for (const std::int64_t channels : {96, 12, 7, 2}) {
      const Depthwise conv = depthwise(1, channels, window, type);
      const std::vector<DepthwiseShare> shares = depthwise_shares(conv);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        EXPECT_EQ(channels % shares[i].channels, 0);
        EXPECT_GE(depthwise_threads(conv, shares[i]) * shares[i].channels * shares[i].columns * shares[i].lines,
                  conv.result[0] * conv.result[1] * channels);
        EXPECT_EQ(std::ranges::count(shares, shares[i]), 1);
      }
    }
}

} // namespace
} // namespace lanner::cuda
