#pragma once
// Graphs of one fused convolution or product of bytes, as text, with operands over the whole range of their
// types.

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/tensor.h>

namespace lanner::test {

/// dequantize_linear of x and weights, `conv` (with a bias) or `matmul`, steps, quantize_linear.
struct Int8Layer {
  std::vector<std::int64_t> input, filter, output;
  std::string attributes = {}; ///< Of the convolution; a filter of rank 2 is of a product.
  std::string x_type = "u8", w_type = "i8";
  int x_zero = 0;
  bool x_has_zero = true;
  int w_zeros = 0; ///< 0: none, 1: one, 2: one per column.
  bool per_column = true, bias = true;
  std::vector<std::string> steps = {};
  std::string result = "i8"; ///< `f32`: it is not quantised.
  int result_zero = 0;
  unsigned seed = 1;

  bool conv() const { return filter.size() > 2; }
  std::int64_t columns() const { return conv() ? filter[0] : filter[1]; }
};

inline std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

inline void PrintTo(const Int8Layer& l, std::ostream* out) {
  *out << l.x_type << shape_text(l.input) << " x " << l.w_type << shape_text(l.filter) << " {" << l.attributes
       << "} " << fmt::format("{}", fmt::join(l.steps, " ")) << " -> " << l.result << ", seed " << l.seed;
}

/// Writes a layer's text.
class Int8Text {
public:
  explicit Int8Text(const Int8Layer& layer) : l_(layer), random_(layer.seed) {}

  std::string text() {
    const std::string body = body_text();
    const std::string result = fmt::format("{}[*]", l_.result);
    std::string all = fmt::format("graph @g(%x: {0}{1}, %o: i8{2}, %f: f32{2}) -> (%y: {3} as \"y\") {{\n",
                                  l_.x_type, shape_text(l_.input), shape_text(l_.output), result);
    all += constants_;
    all += fmt::format(
        "  %y: {} = fused(%x, %o, %f{}) {{kind = \"t\"}} ((%xi: {}{}, %oi: i8{}, %fi: f32{}{}) -> (%r) "
        "{{\n{}  }})\n}}",
        result, arguments_, l_.x_type, shape_text(l_.input), shape_text(l_.output), shape_text(l_.output),
        parameters_, body);
    return all;
  }

  /// x, another operand of bytes and one of f32, each of the result's shape but x.
  std::vector<Tensor> operands() {
    std::mt19937 random(l_.seed + 1);
    const auto bytes = [&](DType type, const std::vector<std::int64_t>& shape) {
      Tensor tensor = Tensor::allocate(type, Shape(shape));
      auto* data = static_cast<unsigned char*>(tensor.data());
      std::generate_n(data, tensor.bytes(), [&] { return static_cast<unsigned char>(random() & 255); });
      return tensor;
    };
    Tensor reals = Tensor::allocate(DType::f32, Shape(l_.output));
    std::normal_distribution<float> normal(0, static_cast<float>(spread()));
    for (float& x : reals.as<float>()) x = normal(random);
    return {bytes(l_.x_type == "i8" ? DType::i8 : DType::u8, l_.input), bytes(DType::i8, l_.output), reals};
  }

private:
  static constexpr double x_scale = 0.0173, w_scale = 0.0121;

  std::int64_t depth() const {
    std::int64_t depth = 1;
    for (std::size_t i = l_.conv() ? 1 : 0; i < (l_.conv() ? l_.filter.size() : 1); ++i)
      depth *= l_.filter[i];
    return depth;
  }
  /// The result's standard deviation, about.
  double spread() const { return std::sqrt(static_cast<double>(depth())) * 74 * x_scale * 74 * w_scale; }

  int drawn(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  int drawn_byte(const std::string& type) { return type == "i8" ? drawn(-128, 127) : drawn(0, 255); }

  /// A constant outside, as a parameter of the body: its name there.
  std::string constant(const std::string& type, const std::vector<std::int64_t>& shape,
                       const std::function<std::string()>& element) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<std::string> elements(static_cast<std::size_t>(count));
    for (std::string& text : elements) text = element();
    const std::string name = fmt::format("c{}", count_++), full = type + shape_text(shape);
    constants_ +=
        fmt::format("  %{0}: {1} = constant() {{value = {1}({2})}}\n", name, full, fmt::join(elements, ", "));
    arguments_ += ", %" + name;
    parameters_ += fmt::format(", %{}i: {}", name, full);
    return "%" + name + "i";
  }
  std::string number(double value) {
    return constant("f32", {}, [&] { return fmt::format("{:.9g}", value); });
  }
  std::string byte(const std::string& type, int value) {
    return constant(type, {}, [&] { return std::to_string(value); });
  }
  std::string real_near(double value) {
    return fmt::format("{:.9g}", value * (0.5 + static_cast<double>(drawn(0, 1000)) / 1000));
  }
  std::string per_channel(double value, double shift) {
    std::vector<std::int64_t> shape{l_.columns()};
    if (l_.conv()) shape.resize(l_.filter.size() - 1, 1);
    return constant("f32", shape,
                    [&] { return fmt::format("{:.9g}", shift + value * (drawn(0, 2000) - 1000) / 1000.0); });
  }

  std::string line(const std::string& operation, const std::string& attributes = "") {
    const std::string name = fmt::format("v{}", count_++);
    body_ += fmt::format("    %{}: f32[*] = {} {{{}}}\n", name, operation, attributes);
    return "%" + name;
  }

  std::string body_text() {
    const bool other = std::ranges::find(l_.steps, "add_bytes") != l_.steps.end() && drawn(0, 1) == 1;
    if (other) other_ = dequantised_other(); // Before its reader's other operands.
    const std::string weights = dequantised_weights();
    std::string x = fmt::format("dequantize_linear(%xi, {}", number(x_scale));
    if (l_.x_has_zero) x += ", " + byte(l_.x_type, l_.x_zero);
    x = line(x + ")");
    std::string operands = x + ", " + weights;
    if (l_.conv() && l_.bias)
      operands += ", " + constant("f32", {l_.columns()}, [&] { return real_near(drawn(-1, 1) * spread()); });
    std::string value = line(fmt::format("{}({})", l_.conv() ? "conv" : "matmul", operands), l_.attributes);
    for (const std::string& step : l_.steps) value = stepped(step, value);
    if (l_.result != "f32") {
      const std::string scale = number(spread() / 40), zero = byte(l_.result, l_.result_zero);
      body_ += fmt::format("    %r: {}[*] = quantize_linear({}, {}, {})\n", l_.result, value, scale, zero);
    } else {
      body_ += fmt::format("    %r: f32[*] = identity({})\n", value);
    }
    return body_;
  }

  std::string dequantised_weights() {
    const std::string stored =
        constant(l_.w_type, l_.filter, [&] { return std::to_string(drawn_byte(l_.w_type)); });
    const std::vector<std::int64_t> one{}, all{l_.columns()};
    const std::string scale = constant("f32", l_.per_column ? all : one, [&] { return real_near(w_scale); });
    std::string operation = fmt::format("dequantize_linear({}, {}", stored, scale);
    if (l_.w_zeros > 0) { // As many as scales, as the operator demands.
      const int same = drawn_byte(l_.w_type);
      operation += ", " + constant(l_.w_type, l_.per_column ? all : one, [&] {
                     return std::to_string(l_.w_zeros == 1 ? same : drawn_byte(l_.w_type));
                   });
    }
    return line(operation + ")", fmt::format("axis = {}", l_.conv() ? 0 : 1));
  }

  std::string dequantised_other() {
    const std::string scale = number(spread() / 60), zero = byte("i8", drawn_byte("i8"));
    return line(fmt::format("dequantize_linear(%oi, {}, {})", scale, zero));
  }

  std::string stepped(const std::string& step, const std::string& x) {
    const auto binary = [&](const char* kind, const std::string& operand) {
      return line(drawn(0, 1) == 1 ? fmt::format("{}({}, {})", kind, x, operand)
                                   : fmt::format("{}({}, {})", kind, operand, x));
    };
    if (step == "add_bytes") return binary("add", other_.empty() ? dequantised_other() : other_);
    if (step == "add_f32") return binary("add", "%fi");
    if (step == "mul_f32") return binary("mul", "%fi");
    if (step == "sub_f32") return binary("sub", "%fi");
    if (step == "add_channel") return binary("add", per_channel(spread(), 0));
    if (step == "mul_channel") return binary("mul", per_channel(0.5, 1));
    if (step == "add_scalar") return binary("add", number(spread() / 3));
    if (step == "clip") {
      const std::string low = number(-spread() / 2);
      return line(fmt::format("clip({}, {}, {})", x, low, number(spread())));
    }
    if (step.starts_with("round_")) return rounded(step.substr(6), x);
    if (step == "silu") return line(fmt::format("mul({}, {})", x, line(fmt::format("sigmoid({})", x))));
    return line(fmt::format("{}({})", step, x));
  }

  /// quantize_linear and dequantize_linear, as of a convolution's result before a sum.
  std::string rounded(const std::string& type, const std::string& x) {
    const std::string scale = number(spread() / 50), zero = byte(type, type == "i8" ? 5 : 131),
                      name = fmt::format("v{}", count_++);
    body_ += fmt::format("    %{}: {}[*] = quantize_linear({}, {}, {})\n", name, type, x, scale, zero);
    return line(fmt::format("dequantize_linear(%{}, {}, {})", name, scale, zero));
  }

  const Int8Layer& l_;
  std::mt19937 random_;
  std::string constants_, arguments_, parameters_, body_, other_;
  int count_ = 0;
};

} // namespace lanner::test
