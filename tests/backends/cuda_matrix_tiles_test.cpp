// The plans chosen by estimates, against times measured on one H200 with FP16: for every shape at least one
// of them is within 10 % of the best measured.

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/product/matrix_tiles.h"

namespace lanner {
namespace {

void add_steps(cuda::MatrixProblem& p, bool residual) {
  p.steps = {{&formula("add"), {}, cuda::MatrixOperand{DType::f32, Spread::channel, 0}}};
  if (residual)
    p.steps.push_back({&formula("add"), {}, cuda::MatrixOperand{DType::f16, Spread::full, p.columns}});
}

cuda::MatrixProblem product(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool exchanged,
                            bool residual = false) {
  cuda::MatrixProblem p;
  p.rows = rows;
  p.columns = columns;
  p.depth = depth;
  p.a = {depth, false, 0};
  p.b = {exchanged ? depth : columns, exchanged, 0};
  p.leading = columns;
  add_steps(p, residual);
  return p;
}

/// For square images; with stride one the output has the input's size.
cuda::MatrixProblem conv(std::int64_t batch, std::int64_t image, std::int64_t channels, std::int64_t columns,
                         std::int64_t kernel, std::int64_t stride, bool residual = false) {
  const std::int64_t begin = kernel / 2, result = (image + 2 * begin - kernel) / stride + 1;
  cuda::MatrixProblem p =
      product(batch * result * result, columns, kernel * kernel * channels, true, residual);
  if (kernel == 1 && stride == 1) return p;
  cuda::MatrixWindow w;
  for (const int i : {0, 1}) {
    w.image[i] = image;
    w.result[i] = result;
    w.kernel[i] = kernel;
    w.strides[i] = stride;
    w.begin[i] = begin;
  }
  w.channels = w.pixel = channels;
  p.window = w;
  return p;
}

/// The best time, and the plans within 10 % of it: a tile and, after a slash, the number of parts of the
/// depth. Compute capability 80 stands for warp tiles only.
struct Measured {
  int capability;
  cuda::MatrixProblem problem;
  double microseconds;
  std::string best;
};

// clang-format off
const Measured measured[] = {
    {90, conv(128, 56, 64, 256, 1, 1, true), 126.6, "128x128x64s5t 128x128x64s5a 64x128x64s7a 128x64x64s7a 64x256x64s4a"},
    {90, conv(128, 56, 256, 64, 1, 1), 64.1, "64x64x64s3g 64x64x64s7a 128x64x64s7a 128x64x64s3g"},
    {90, conv(128, 56, 64, 64, 3, 1), 72.1, "128x64x64s7a"},
    {90, conv(128, 28, 128, 512, 1, 1, true), 67.9, "128x128x64s5t 64x128x64s7a 128x128x64s5a 64x256x64s4a 128x64x64s7a"},
    {90, conv(128, 28, 512, 128, 1, 1), 35.5, "64x128x64s7a 128x128x64s5a 192x128x64s4a 128x128x64s5t"},
    {90, conv(128, 28, 128, 128, 3, 1), 48.1, "192x128x64s4a 128x128x64s5a 128x128x64s5t"},
    {90, conv(128, 56, 256, 512, 1, 2), 69.3, "192x128x64s4a 64x256x64s4a 128x128x64s5a"},
    {90, conv(128, 56, 128, 128, 3, 2), 54.5, "128x128x64s5a 192x128x64s4a 128x128x64s5t"},
    {90, conv(128, 14, 256, 1024, 1, 1, true), 46.7, "128x128x64s5t 64x128x64s7a 128x128x64s3g 128x64x64s7a"},
    {90, conv(128, 14, 1024, 256, 1, 1), 25.5, "128x128x64s5a 192x128x64s4a 64x256x64s4a 128x128x64s5t 64x128x64s7a"},
    {90, conv(128, 14, 256, 256, 3, 1), 41.9, "64x256x64s4a 192x128x64s4a 128x128x64s5a 128x128x64s5t"},
    {90, conv(128, 7, 512, 2048, 1, 1, true), 32.9, "128x128x64s5t"},
    {90, conv(128, 7, 2048, 512, 1, 1), 22.2, "192x128x64s4a 64x128x64s7a"},
    {90, conv(128, 7, 512, 512, 3, 1), 40.3, "192x128x64s4a"},
    {90, product(6304, 2304, 768, false), 39.2, "128x128x64s5a 64x256x64s4a 192x128x64s4a 128x128x64s5t 128x192x64s4t"},
    {90, product(6304, 768, 768, false, true), 19.3, "128x128x64s5t 128x192x64s4t"},
    {90, product(6304, 3072, 768, false), 64.9, "192x128x64s4a 64x256x64s4a 128x256x64s4t 64x128x64s7a 128x128x64s5a 128x128x64s5t 128x192x64s4t"},
    {90, product(6304, 3072, 768, true), 48.5, "192x128x64s4a 64x256x64s4a"},
    {90, product(6304, 768, 3072, false, true), 55.7, "128x128x64s5t 128x192x64s4t 64x128x64s7a"},
    {90, product(4096, 768, 768, false), 10.2, "128x192x64s4t 64x128x64s7a 192x128x64s4a"},
    {90, product(4096, 3072, 768, false), 40.6, "128x192x64s4t 128x256x64s4t 128x128x64s5t 128x128x64s5a 64x256x64s4a"},
    {90, product(4096, 768, 3072, false, true), 30.7, "128x192x64s4t"},
    {90, product(100352, 288, 96, false), 41.1, "128x64x32s4 128x192x64s4t 128x64x64s3g 192x128x64s4a 128x64x64s7a 256x32x32s4 128x128x64s5a"},
    {90, product(100352, 384, 96, false), 59.0, "128x128x64s3g 128x128x64s5a 192x128x64s4a 128x64x64s3g 128x192x64s4t 128x128x32s4"},
    {90, product(100352, 96, 384, false, true), 37.7, "128x128x64s5t 128x128x64s3g"},
    {90, product(25088, 192, 768, false, true), 24.3, "128x192x64s4t 128x128x64s5t"},
    {90, product(6272, 1536, 384, false), 22.5, "128x192x64s4t"},
    {90, product(6272, 384, 1536, false, true), 15.8, "128x192x64s4t"},
    {90, product(1568, 3072, 768, false), 20.7, "64x128x64s7a 128x192x64s4t 128x128x64s5t"},
    {90, conv(32, 56, 144, 24, 1, 1, true), 11.6, "128x32x64s3g 256x32x32s4"},
    {90, conv(32, 28, 240, 40, 1, 1, true), 6.1, "64x64x64s3g 128x48x64s3g"},
    {90, conv(32, 14, 80, 480, 1, 1), 5.9, "128x64x64s3g 128x64x32s4"},
    {90, conv(32, 14, 672, 112, 1, 1, true), 7.1, "128x64x64s7a 64x128x64s7a 64x64x64s3g 128x128x64s5t 128x64x64s3g"},
    {90, conv(32, 7, 192, 1152, 1, 1), 4.9, "64x64x64s3g 128x64x64s3g 128x128x64s3g 64x128x64s7a 128x128x64s5t 128x64x64s7a"},
    {90, conv(32, 7, 1152, 192, 1, 1, true), 6.1, "64x64x64s7a"},
    {90, conv(32, 7, 320, 1280, 1, 1), 5.7, "128x128x64s5t 64x128x64s7a 128x128x64s3g 128x64x64s3g 64x64x64s3g 128x64x64s7a"},
    {90, conv(128, 224, 64, 64, 3, 1), 1210.0, "128x64x64s7a"},
    {90, conv(128, 112, 128, 128, 3, 1), 730.1, "128x128x64s5a 192x128x64s4a 128x128x64s5t"},
    {90, conv(128, 28, 512, 512, 3, 1), 644.9, "128x256x64s4t 128x128x64s5a 64x256x64s4a"},
    {90, conv(32, 28, 256, 128, 1, 1), 8.9, "192x128x64s4a 128x128x64s5a 128x128x64s5t 64x128x64s7a"},
    {90, conv(32, 28, 128, 32, 3, 1), 14.6, "128x32x64s7a"},
    {90, conv(32, 14, 512, 128, 1, 1), 5.2, "64x128x64s7a 128x64x64s3g 128x64x64s7a"},
    {90, conv(32, 14, 128, 32, 3, 1), 7.2, "128x32x64s7a/2 128x32x64s7a"},
    {90, conv(128, 56, 24, 144, 1, 1), 81.5, "256x32x32s4 256x64x32s4"},
    {90, conv(128, 14, 96, 576, 1, 1), 19.9, "128x192x64s4t 192x128x64s4a 128x128x64s5a"},
    {90, conv(128, 14, 576, 96, 1, 1, true), 14.1, "128x128x64s5t 64x128x64s7a"},
    {90, conv(128, 7, 320, 1280, 1, 1), 14.9, "64x256x64s4a 128x128x64s5a 128x128x64s3g 128x256x64s4g 128x256x64s4t 128x128x64s5t"},
    {90, conv(32, 14, 256, 256, 3, 1), 14.5, "128x128x64s5t 128x128x64s5a 64x256x64s4a"},
    {90, conv(32, 28, 128, 128, 3, 1), 15.1, "64x128x64s7a 192x128x64s4a"},
    {90, conv(32, 56, 64, 256, 1, 1, true), 35.5, "128x128x64s5t 64x128x64s7a 128x128x64s5a 128x64x64s7a 64x256x64s4a 64x64x64s7a"},
    {90, conv(32, 7, 512, 512, 3, 1), 16.1, "64x128x64s7a"},
    {90, conv(32, 14, 256, 1024, 1, 1, true), 12.1, "128x128x64s3g 128x128x64s5t 64x128x64s7a"},
    {90, conv(1, 14, 256, 256, 3, 1), 5.8, "64x64x64s4/8 128x32x64s3/8 64x64x64s7a/4"},
    {90, conv(1, 7, 512, 512, 3, 1), 6.7, "64x64x64s3g/8 64x64x64s4/8"},
    {90, conv(1, 56, 64, 64, 3, 1), 4.4, "64x64x64s7a 64x64x64s3g"},
    {90, conv(1, 14, 1024, 256, 1, 1), 5.0, "64x64x64s7a/4 64x64x64s7a"},
    {80, conv(32, 56, 64, 256, 1, 1, true), 56.8, "128x64x32s4"},
    {80, conv(32, 56, 256, 64, 1, 1), 23.7, "128x64x64s3 128x64x32s4 64x64x64s4 128x32x64s3"},
    {80, conv(32, 56, 64, 64, 3, 1), 29.5, "128x64x32s4 128x64x64s3 64x64x64s4"},
    {80, conv(32, 28, 128, 512, 1, 1, true), 35.5, "128x64x32s4 64x128x64s3"},
    {80, conv(32, 28, 512, 128, 1, 1), 14.4, "128x64x32s4 256x128x64s3 128x128x64s3"},
    {80, conv(32, 28, 128, 128, 3, 1), 27.1, "128x64x32s4 256x128x32s3 64x64x64s4 128x128x32s4"},
    {80, conv(32, 14, 256, 1024, 1, 1, true), 20.8, "128x64x32s4 64x128x64s3 128x64x64s3"},
    {80, conv(32, 14, 1024, 256, 1, 1), 14.1, "64x64x64s4 64x128x64s3 128x64x64s3"},
    {80, conv(32, 14, 256, 256, 3, 1), 28.4, "64x64x64s4"},
    {80, conv(32, 7, 512, 2048, 1, 1, true), 17.8, "128x256x64s3 128x128x32s4 256x128x64s3 128x256x32s3 256x128x32s3 64x256x32s4"},
    {80, conv(32, 7, 2048, 512, 1, 1), 16.2, "64x128x64s3 64x64x64s4"},
    {80, conv(32, 7, 512, 512, 3, 1), 35.3, "128x128x32s4/4 64x128x64s3 128x128x64s3/4 256x128x32s3/4 128x256x64s3/4 128x128x32s4/2 128x256x32s3/4 64x64x64s4 128x64x64s3 64x256x32s4/4 256x64x32s4/4 64x128x64s3/2 128x64x64s3/2 256x128x64s3/4 64x256x32s4/2 256x64x32s4/2"},
    {80, conv(128, 224, 3, 64, 7, 2), 512.4, "128x64x32s4 256x64x32s4"},
    {80, conv(128, 56, 64, 256, 1, 1, true), 192.9, "128x128x32s4 128x64x32s4"},
    {80, conv(128, 56, 256, 64, 1, 1), 73.6, "256x64x32s4 128x64x64s3 128x64x32s4 64x64x64s4"},
    {80, conv(128, 56, 64, 64, 3, 1), 107.8, "128x64x32s4 128x64x64s3 256x64x32s4"},
    {80, conv(128, 28, 128, 512, 1, 1, true), 114.7, "128x128x32s4 128x64x32s4"},
    {80, conv(128, 28, 512, 128, 1, 1), 45.7, "256x128x64s3 128x128x64s3 128x128x32s4"},
    {80, conv(128, 28, 128, 128, 3, 1), 85.0, "256x128x32s3 128x128x32s4 128x128x64s3"},
    {80, conv(128, 56, 256, 512, 1, 2), 106.9, "128x128x32s4 128x128x64s3 256x64x32s4 128x256x32s3 256x128x32s3 128x256x64s3 256x128x64s3 64x256x32s4"},
    {80, conv(128, 56, 128, 128, 3, 2), 86.9, "128x128x32s4 256x128x32s3 128x128x64s3 256x128x64s3"},
    {80, conv(128, 14, 256, 1024, 1, 1, true), 72.8, "128x128x32s4"},
    {80, conv(128, 14, 1024, 256, 1, 1), 40.7, "128x128x64s3 64x128x64s3 128x64x64s3"},
    {80, conv(128, 14, 256, 256, 3, 1), 84.3, "128x128x32s4"},
    {80, conv(128, 7, 512, 2048, 1, 1, true), 52.8, "128x128x32s4"},
    {80, conv(128, 7, 2048, 512, 1, 1), 41.1, "128x256x64s3 128x64x32s4 128x128x64s3 256x128x64s3 64x64x64s4"},
    {80, conv(128, 7, 512, 512, 3, 1), 91.0, "128x256x32s3 128x64x32s4 256x128x32s3 128x256x64s3"},
    {80, product(6304, 2304, 768, false), 74.1, "128x128x32s4 64x256x32s4 128x256x64s3 64x128x64s3 128x64x32s4"},
    {80, product(6304, 768, 768, false, true), 33.9, "64x64x64s4 128x64x32s4"},
    {80, product(6304, 3072, 768, false), 114.9, "128x256x64s3 128x128x32s4 64x128x64s3 128x64x32s4 64x256x32s4 256x128x64s3 128x128x64s3"},
    {80, product(6304, 3072, 768, true), 109.8, "128x256x64s3 128x128x32s4 256x128x64s3 64x256x32s4 64x128x64s3 128x256x32s3"},
    {80, product(6304, 768, 3072, false, true), 104.2, "64x64x64s4 128x64x32s4"},
    {80, product(4096, 768, 768, false), 18.7, "128x64x32s4 128x64x64s3 128x256x64s3 256x128x64s3 256x64x32s4"},
    {80, product(4096, 3072, 768, false), 66.0, "128x256x64s3 256x128x64s3 128x128x32s4 256x64x32s4 128x128x64s3"},
    {80, product(4096, 768, 3072, false, true), 63.8, "128x64x32s4 128x256x64s3 64x64x64s4"},
    {80, conv(32, 112, 32, 16, 1, 1), 15.5, "256x32x32s4"},
    {80, conv(32, 112, 16, 96, 1, 1), 86.9, "128x64x32s4"},
    {80, conv(32, 56, 24, 144, 1, 1), 38.7, "128x64x32s4"},
    {80, conv(32, 56, 144, 24, 1, 1, true), 13.0, "256x32x32s4"},
    {80, conv(32, 28, 40, 240, 1, 1), 18.5, "128x64x32s4"},
    {80, conv(32, 28, 240, 40, 1, 1, true), 8.3, "64x64x64s4 128x32x64s3 128x64x64s3"},
    {80, conv(32, 14, 80, 480, 1, 1), 10.0, "128x64x32s4 128x64x64s3 64x128x64s3"},
    {80, conv(32, 14, 672, 112, 1, 1, true), 9.7, "64x64x64s4 128x64x64s3 64x128x64s3 128x64x32s4"},
    {80, conv(32, 7, 192, 1152, 1, 1), 9.9, "64x128x64s3 128x64x64s3 128x64x32s4"},
    {80, conv(32, 7, 1152, 192, 1, 1, true), 8.6, "64x64x64s4"},
    {80, conv(32, 7, 320, 1280, 1, 1), 11.4, "64x128x64s3 128x64x64s3 128x64x32s4"},
};
// clang-format on

std::string name_of(const cuda::MatrixPlan& plan) {
  return plan.split == 1 ? plan.tile.name() : fmt::format("{}/{}", plan.tile.name(), plan.split);
}

bool among(const std::string& names, const std::string& name) {
  return fmt::format(" {} ", names).find(fmt::format(" {} ", name)) != std::string::npos;
}

TEST(MatrixTilesMeasured, OneOfTheChosenPlansIsNearTheBest) {
  for (const auto& [capability, problem, microseconds, best] : measured) {
    const auto plans = cuda::matrix_plans(problem, {capability, 132});
    std::string named;
    for (const auto& [plan, seconds] : plans)
      named += fmt::format(" {} {:.1f}", name_of(plan), seconds * 1e6);
    EXPECT_TRUE(std::ranges::any_of(plans, [&](const auto& one) { return among(best, name_of(one.plan)); }))
        << problem.rows << "x" << problem.columns << "x" << problem.depth << ", best in " << microseconds
        << " us: " << best << "; named:" << named;
  }
}

/// Estimates ignore that channels which do not fill 16 bytes are read one by one, as those of an RGB image.
bool read_by_elements(const cuda::MatrixProblem& p) {
  return p.window && p.window->channels % 8 != 0;
}

TEST(MatrixTilesMeasured, EstimatesAreWithinAFactorOfTheTimes) {
  for (const auto& [capability, problem, microseconds, best] : measured) {
    if (read_by_elements(problem)) continue;
    for (const auto& [plan, seconds] : cuda::matrix_plans(problem, {capability, 132}))
      if (among(best, name_of(plan))) {
        EXPECT_GT(seconds * 1e6, microseconds * 0.4) << name_of(plan) << " of " << problem.rows;
        EXPECT_LT(seconds * 1e6, microseconds * 2.0) << name_of(plan) << " of " << problem.rows;
      }
  }
}

TEST(MatrixTilesMeasured, TilesThatAreBestForNoShapeAreNotListed) {
  for (const auto* name : {"64x256x64s4g", "128x16x64s3"}) EXPECT_FALSE(cuda::matrix_tile(name)) << name;
}

} // namespace
} // namespace lanner
