// Generated sources of first convolutions, run on the host and compared with their definition in double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/convolution/stem_source.h"
#include "backends/cuda_sources.h"

namespace lanner::cuda {
namespace {

struct Axes {
  std::int64_t size[2], kernel[2], strides[2], dilations[2], begin[2], end[2];
};

Stem stem(std::int64_t batch, std::int64_t channels, std::int64_t filters, const Axes& axes) {
  Stem made;
  made.batch = batch;
  made.channels = channels;
  made.filters = filters;
  for (std::size_t i = 0; i < 2; ++i) {
    made.size[i] = axes.size[i];
    made.kernel[i] = axes.kernel[i];
    made.strides[i] = axes.strides[i];
    made.dilations[i] = axes.dilations[i];
    made.begin[i] = axes.begin[i];
    const std::int64_t span = (axes.kernel[i] - 1) * axes.dilations[i] + 1;
    made.result[i] = (axes.size[i] + axes.begin[i] + axes.end[i] - span) / axes.strides[i] + 1;
  }
  return made;
}

const Axes of_resnet{{23, 37}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}};
const Axes of_vgg{{18, 21}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};

class CudaStemSources : public CudaSources {
protected:
  /// `blocks`: fewer than tiles where blocks take several. `off`: offset from an aligned address. `hole`: an
  /// element of the image that is infinite; negative: none.
  void add_case(const Stem& stem, std::int64_t blocks = 2, std::int64_t off = 0, std::int64_t hole = -1) {
    add(stem_source(stem), "stem",
        [this, stem, blocks, off, hole](std::size_t kernel) { check(kernel, stem, blocks, off, hole); });
  }

private:
  void check(std::size_t kernel, const Stem& s, std::int64_t blocks, std::int64_t off, std::int64_t hole) {
    SCOPED_TRACE(fmt::format("{} channels, {}x{}, {} filters of {}x{}, {} from {}{}", s.channels, s.size[0],
                             s.size[1], s.filters, s.kernel[0], s.kernel[1], to_string(s.type),
                             to_string(s.image), s.channels_last ? ", channels last" : ""));
    Memory image(s.image, s.batch * s.channels * s.size[0] * s.size[1]);
    Memory weights(s.type, s.filters * s.channels * s.kernel[0] * s.kernel[1]);
    Memory bias(DType::f32, s.filters);
    Memory out(s.type, s.batch * s.filters * s.result[0] * s.result[1], off);
    image.draw(random);
    weights.draw(random);
    bias.draw(random);
    if (hole >= 0) image.set(hole, infinity);
    void* pointers[] = {image.data(), weights.data(), bias.data(), out.data()};
    std::vector<void*> arguments;
    for (std::size_t i = 0; i < 4; ++i)
      if (i != 2 || !s.steps.empty()) arguments.push_back(&pointers[i]);
    ASSERT_LE(s.shared_bytes(), 227 << 10);
    ASSERT_TRUE(kernels.run(kernel, blocks, static_cast<int>(stem_block), arguments));
    for (std::int64_t i = 0; i < out.elements() && !HasFailure(); ++i) {
      auto [sum, magnitude] = expected(s, image, weights, i);
      if (!s.steps.empty()) sum = std::max(0.0, sum + bias.get(i % s.filters));
      if (std::isfinite(sum))
        EXPECT_NEAR(out.get(i), sum, tolerance(s.type) * (1 + magnitude)) << "element " << i;
      else
        EXPECT_FALSE(std::isfinite(out.get(i))) << "element " << i;
    }
    EXPECT_TRUE(out.fences_stand());
  }

  /// The sum, and the sum of its terms' magnitudes, of images rounded to the type of products.
  static std::pair<double, double> expected(const Stem& s, const Memory& image, const Memory& weights,
                                            std::int64_t i) {
    const std::int64_t k = i % s.filters, x = i / s.filters % s.result[1],
                       y = i / s.filters / s.result[1] % s.result[0],
                       n = i / s.filters / s.result[1] / s.result[0];
    double sum = 0, magnitude = 0;
    for (std::int64_t c = 0; c < s.channels; ++c)
      for (std::int64_t ky = 0; ky < s.kernel[0]; ++ky)
        for (std::int64_t kx = 0; kx < s.kernel[1]; ++kx) {
          const std::int64_t iy = y * s.strides[0] + ky * s.dilations[0] - s.begin[0],
                             ix = x * s.strides[1] + kx * s.dilations[1] - s.begin[1];
          if (iy < 0 || iy >= s.size[0] || ix < 0 || ix >= s.size[1]) continue;
          const std::int64_t at = s.channels_last ? ((n * s.size[0] + iy) * s.size[1] + ix) * s.channels + c
                                                  : ((n * s.channels + c) * s.size[0] + iy) * s.size[1] + ix;
          const double term =
              image.get(at) * weights.get(((k * s.channels + c) * s.kernel[0] + ky) * s.kernel[1] + kx);
          sum += term;
          magnitude += std::abs(term);
        }
    return {sum, magnitude};
  }
};

TEST_F(CudaStemSources, windows_channels_and_memory_orders) {
  const Axes windows[] = {of_resnet,
                          of_vgg,
                          {{33, 18}, {4, 4}, {4, 4}, {1, 1}, {0, 0}, {0, 0}},
                          {{20, 17}, {5, 3}, {1, 2}, {1, 1}, {2, 0}, {1, 2}},
                          {{19, 24}, {3, 3}, {2, 2}, {2, 2}, {2, 2}, {2, 2}},
                          {{7, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}};
  std::size_t at = 0;
  for (const Axes& window : windows)
    for (const std::int64_t channels : {3, 1, 4}) {
      Stem one = stem(2, channels, at % 2 == 0 ? 16 : 72, window);
      one.type = one.image = at % 3 == 0 ? DType::bf16 : DType::f16;
      if (at % 4 == 1) one.image = DType::f32;
      one.channels_last = at % 2 == 1;
      add_case(one);
      ++at;
    }
  run_all();
}

TEST_F(CudaStemSources, bias_and_activation) {
  for (const std::int64_t filters : {8, 64, 128}) {
    Stem one = stem(1, 3, filters, of_vgg);
    one.steps = {{&formula("add"), {}, MatrixOperand{DType::f32, Spread::channel, 0}},
                 {&formula("relu"), {}, {}}};
    add_case(one);
  }
  run_all();
}

TEST_F(CudaStemSources, more_blocks_than_tiles_and_unaligned_results) {
  add_case(stem(1, 3, 32, of_resnet), 9);
  add_case(stem(1, 3, 32, of_resnet), 1, 1);
  run_all();
}

// Padded taps read pixels that are not the filter's: zero times infinity would be a NaN.
TEST_F(CudaStemSources, an_infinite_pixel_reaches_its_own_results_only) {
  Stem one = stem(1, 3, 16, of_vgg);
  for (const bool last : {false, true}) {
    one.channels_last = last;
    add_case(one, 2, 0, 100);
  }
  run_all();
}

TEST(StemSource, wide_filters_and_large_strides_do_not_fit) {
  constexpr std::int64_t shared = 227 << 10;
  EXPECT_TRUE(stem_fits(stem(1, 3, 64, of_resnet), shared));
  EXPECT_TRUE(stem_fits(stem(1, 3, 128, of_resnet), shared));
  EXPECT_FALSE(stem_fits(stem(1, 3, 136, of_resnet), shared));
  EXPECT_FALSE(stem_fits(stem(1, 3, 60, of_resnet), shared));
  EXPECT_FALSE(stem_fits(stem(1, 5, 64, of_resnet), shared));
  EXPECT_FALSE(stem_fits(stem(1, 3, 64, {{224, 224}, {16, 16}, {16, 16}, {1, 1}, {0, 0}, {0, 0}}), shared));
}

} // namespace
} // namespace lanner::cuda
