// Sizes beyond what libraries support: each model ends in an Error or in the right answer.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "engine/small_models.h"

namespace lanner {
namespace {

using namespace test::onnx_file;

BuildOptions small_options() {
  BuildOptions options = test::plain_options();
  options.budget = 0;
  options.limits.total_bytes = 256 << 20;
  options.limits.tensor_bytes = 64 << 20;
  options.limits.seconds = 20;
  return options;
}

/// Whether the build returns or throws: a failing library would end the process instead.
bool ends(const std::string& bytes) {
  try {
    test::built(bytes, small_options());
    return true;
  } catch (const Error& error) {
    return error.code() != ErrorCode::internal;
  }
}

std::string windowed(const std::string& op, const std::vector<std::string>& x,
                     const std::vector<std::string>& w, const std::vector<Message>& attributes) {
  std::vector<std::string> names{"x"};
  std::vector<Message> inputs{value("x", f32, x)};
  if (!w.empty()) {
    names.emplace_back("w");
    inputs.push_back(value("w", f32, w));
  }
  return model(graph({.nodes = {node({op, names, {"y"}, attributes})},
                      .inputs = inputs,
                      .outputs = {value("y", f32, std::vector<std::string>(x.size(), "?"))}}));
}

TEST(HostileSizes, WidthsBeyondALibrarysIntegersAreHandled) {
  for (const char* width : {"2147483647", "2147483648", "1073741825"})
    for (std::size_t rank = 3; rank <= 5; ++rank) {
      std::vector<std::string> x(rank, "4"), w(rank, "3");
      x.back() = width;
      w[0] = "8";
      w[1] = "4";
      EXPECT_TRUE(ends(windowed("Conv", x, w, {}))) << rank << " " << width;
      w[0] = "4";
      w[1] = "8";
      EXPECT_TRUE(ends(windowed("ConvTranspose", x, w, {}))) << rank << " " << width;
      const std::vector<std::int64_t> kernel(rank - 2, 3);
      EXPECT_TRUE(ends(windowed("MaxPool", x, {}, {attribute("kernel_shape", kernel)})))
          << rank << " " << width;
    }
}

TEST(HostileSizes, KernelsBeyondALibrarysCodeAreHandled) {
  for (const std::int64_t size : {std::int64_t{5000}, std::int64_t{1} << 30, std::int64_t{INT32_MAX}})
    for (const char* op : {"MaxPool", "AveragePool", "LpPool"})
      EXPECT_TRUE(ends(windowed(op, {"1", "3", "8"}, {},
                                {attribute("kernel_shape", std::vector<std::int64_t>{size}),
                                 attribute("auto_pad", std::string("SAME_UPPER"))})))
          << op << " " << size;
}

/// Kernels are checked on a few repeated rows of half a byte per element.
TEST(HostileSizes, MillionsOfInt4AreHandled) {
  constexpr std::int64_t int4 = 22; // TensorProto.DataType
  const std::string bytes =
      model(graph({.nodes = {node({"Cast", {"x"}, {"y"}, {attribute("to", std::int64_t{f32})}})},
                   .inputs = {value("x", int4, {"4096", "4096"})},
                   .outputs = {value("y", f32, {"4096", "4096"})}}));
  BuildOptions options = small_options();
  options.limits = {};
  EXPECT_EQ(test::built(bytes, options).outputs().at(0).dtype, DType::f32);
}

TEST(HostileSizes, PadsOfAMillionAreHandled) {
  const std::vector<std::int64_t> pads{1000000, 1000000};
  const Engine engine = test::built(
      windowed("Conv", {"1", "1", "4"}, {"1", "1", "3"}, {attribute("pads", pads)}), small_options());
  Context context = engine.create_context();
  context.bind("x", Tensor::from<float>(std::vector<float>{1, 2, 3, 4}, {1, 1, 4}));
  context.bind("w", Tensor::from<float>(std::vector<float>{1, 10, 100}, {1, 1, 3}));
  context.run();
  const Tensor y = context.output("y").tensor;
  ASSERT_EQ(y.elements(), 2000002);
  double sum = 0;
  for (const float one : y.as<float>()) sum += one;
  EXPECT_EQ(sum, 10.0 * 111);
  EXPECT_EQ(y.as<float>()[1000000], 1 + 20 + 300);
}

} // namespace
} // namespace lanner
