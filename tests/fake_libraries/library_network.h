#pragma once
// Whole networks on the fakes, compared with the host.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/convolution/conv_engines.h"
#include "engine/small_models.h"
#include "fake_driver/fake_gpu.h"
#include "temporary_folder.h"

namespace lanner::test {

/// Starts with empty caches.
class LibraryNetworkTest : public testing::Test {
protected:
  LibraryNetworkTest() { cuda::ConvEngines::forget(); }

  Engine build(const std::string& bytes, Device device, double budget = 0) const {
    BuildOptions options = plain_options(device);
    options.budget = budget;
    options.timing_cache = folder_ / "timing.txt";
    return built(bytes, options);
  }
  /// From -2 to 2 in equal steps, then from -2 again.
  static Tensor saw(const Shape& shape, float step) {
    Tensor input = Tensor::allocate(DType::f32, shape);
    float next = -2;
    for (float& number : input.as<float>()) number = (next += step) > 2 ? next = -2 : next;
    return input;
  }
  static std::vector<float> run(const Engine& engine, const std::map<std::string, Item>& inputs) {
    Context context = engine.create_context();
    return numbers(context(inputs).at("y").tensor);
  }
  static void expect_same(const std::vector<float>& found, const std::vector<float>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
  }
  TemporaryFolder folder_;
};

} // namespace lanner::test
