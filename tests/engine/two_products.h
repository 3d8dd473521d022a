#pragma once
// An engine of two products with its expected answers, for tests of environments and calls.

#include <string>
#include <vector>

#include <lanner/engine.h>

#include "engine/small_models.h"

namespace lanner::test {

inline constexpr std::int64_t width = 128;

/// Any number of rows through two products, whose weights kernels may pack.
inline std::string two_products() {
  using namespace onnx_file;
  const auto n = static_cast<std::size_t>(width);
  std::vector<float> identity(n * n);
  for (std::size_t i = 0; i < n; ++i) identity[i * n + i] = 1;
  const std::string text = std::to_string(width);
  return model(
      graph({.nodes = {node({"MatMul", {"x", "u"}, {"p"}}), node({"Relu", {"p"}, {"q"}}),
                       node({"MatMul", {"q", "v"}, {"r"}}), node({"Neg", {"r"}, {"y"}})},
             .inputs = {value("x", f32, {"n", text})},
             .outputs = {value("y", f32, {"n", text})},
             .constants = {floats("u", {width, width}, identity), floats("v", {width, width}, identity)}}));
}

inline BuildOptions with(const Environment& environment, int threads = 1) {
  BuildOptions options = plain_options();
  options.threads = threads;
  options.environment = environment;
  options.profiles = {{{"x", {Shape{1, width}, Shape{64, width}, Shape{64, width}}}}};
  return options;
}

inline std::vector<float> answer(Context& context, std::int64_t rows = 64) {
  return numbers(context({{"x", ramp({rows, width})}}).at("y").tensor);
}

inline std::vector<float> expected(std::int64_t rows = 64) {
  std::vector<float> numbers = test::numbers(ramp({rows, width}));
  for (float& number : numbers) number = -number;
  return numbers;
}

} // namespace lanner::test
