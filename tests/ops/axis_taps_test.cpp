// Tables of resize and pad, summed axis by axis, give the same results as the definitions.

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/parsed.h"
#include "ops/interpreter/interpreter.h"
#include "ops/resampling/axis_taps.h"

namespace lanner::ops {
namespace {

Tensor counted(const Shape& shape) {
  std::vector<float> numbers(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>((i * 37 + 11) % 101) - 50;
  return Tensor::from<float>(numbers, shape);
}

Tensor summed(const Tensor& x, const ResampledAxis& taps) {
  Shape shape = x.shape();
  const auto size = static_cast<std::int64_t>(taps.begins.size()) - 1;
  std::int64_t inner = 1, outer = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d) (d < taps.axis ? outer : inner) *= shape[d];
  const std::int64_t before = shape[taps.axis];
  inner /= before;
  shape[taps.axis] = size;
  std::vector<float> result(static_cast<std::size_t>(shape.elements()), 0);
  const auto from = x.as<float>();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < size; ++i)
      for (auto t = static_cast<std::size_t>(taps.begins[static_cast<std::size_t>(i)]);
           t < static_cast<std::size_t>(taps.begins[static_cast<std::size_t>(i) + 1]); ++t)
        for (std::int64_t k = 0; k < inner; ++k)
          result[static_cast<std::size_t>((o * size + i) * inner + k)] +=
              taps.weights[t] * from[static_cast<std::size_t>((o * before + taps.indices[t]) * inner + k)];
  return Tensor::from<float>(result, shape);
}

/// The node %y of a graph with its operands and parameters.
class Case {
public:
  explicit Case(const std::string& body)
      : graph_(test::parsed("graph @g(%x: f32[2, 3, 7, 9]) -> (%y) {\n" + body + "\n}")) {
    node_ = graph_->find("y")->producer();
    x_ = counted({2, 3, 7, 9});
  }

  Tensor defined() const {
    std::vector<Item> held;
    held.reserve(node_->inputs().size());
    std::vector<const Item*> inputs;
    for (std::size_t i = 0; i < node_->inputs().size(); ++i) {
      const Tensor* value = i == 0 ? &x_ : constant(i);
      inputs.push_back(value ? &held.emplace_back(*value) : nullptr);
    }
    return run_node(*node_, inputs, {}).front().tensor;
  }

  std::optional<std::vector<ResampledAxis>> taps() const {
    const Shape output = node_->output()->type.shape();
    const Shape input = x_.shape();
    const TapsQuestion question{node_->attributes, input, output,
                                [this](std::size_t i) { return constant(i); }};
    return node_->kind() == "resize" ? resize_taps(question) : pad_taps(question);
  }

  const Tensor& x() const { return x_; }

private:
  const Tensor* constant(std::size_t i) const {
    const Value* value = node_->input(i);
    return value ? value->constant() : nullptr;
  }
  std::unique_ptr<Graph> graph_;
  const Node* node_ = nullptr;
  Tensor x_;
};

std::string resize(const char* sizes, const char* attributes) {
  return fmt::format("  %s = constant() {{value = i64[4]({})}}\n  %y = resize(%x, _, _, %s) {{{}}}", sizes,
                     attributes);
}
std::string pad(const char* pads, const char* mode) {
  return fmt::format("  %s = constant() {{value = i64[8]({})}}\n  %y = pad(%x, %s) {{mode = \"{}\"}}", pads,
                     mode);
}

TEST(AxisTaps, SumsEqualTheDefinition) {
  const std::array cases{
      resize("2, 3, 14, 18", "mode = \"nearest\""),
      resize("2, 3, 5, 18", "mode = \"linear\""),
      resize("2, 3, 5, 4", "mode = \"linear\", antialias = 1"),
      resize("2, 3, 14, 9", "mode = \"cubic\", coordinate_transformation_mode = \"align_corners\""),
      resize("2, 3, 14, 9", "mode = \"cubic\", exclude_outside = 1"),
      resize("2, 4, 14, 4", "mode = \"linear\", coordinate_transformation_mode = \"asymmetric\""),
      pad("0, 0, 3, 2, 0, 0, 1, 4", "reflect"),
      pad("0, 1, 0, -2, 0, 0, 0, 4", "edge"),
      pad("1, 0, 0, 0, 0, 0, 0, 14", "wrap"),
  };
  for (const std::string& text : cases) {
    const Case one(text);
    const auto taps = one.taps();
    ASSERT_TRUE(taps.has_value()) << text;
    Tensor made = one.x();
    for (const ResampledAxis& axis : *taps) made = summed(made, axis);
    const Tensor expected = one.defined();
    ASSERT_EQ(made.shape(), expected.shape()) << text;
    const std::span<const float> a = made.as<float>(), b = expected.as<float>();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << text << " at " << i;
  }
}

TEST(AxisTaps, UnchangedAxesAreOmitted) {
  for (const char* mode : {"mode = \"linear\"", "mode = \"cubic\"", "mode = \"cubic\", exclude_outside = 1",
                           "mode = \"cubic\", coordinate_transformation_mode = \"align_corners\"",
                           "mode = \"cubic\", coordinate_transformation_mode = \"pytorch_half_pixel\""}) {
    const auto taps = Case(resize("2, 3, 14, 9", mode)).taps();
    ASSERT_TRUE(taps.has_value()) << mode;
    ASSERT_EQ(taps->size(), 1U) << mode;
    EXPECT_EQ(taps->front().axis, 2U) << mode;
  }
}

TEST(AxisTaps, ConstantPaddingHasNoTable) {
  EXPECT_FALSE(Case(pad("0, 0, 3, 2, 0, 0, 1, 4", "constant")).taps().has_value());
  const std::string crop =
      "  %r = constant() {value = f32[8](0, 0, -0.5, 0, 1, 1, 1.5, 1)}\n"
      "  %s = constant() {value = i64[4](2, 3, 14, 9)}\n"
      "  %y = resize(%x, %r, _, %s) {mode = \"linear\", coordinate_transformation_mode = "
      "\"tf_crop_and_resize\"}";
  EXPECT_FALSE(Case(crop).taps().has_value());
}

} // namespace
} // namespace lanner::ops
