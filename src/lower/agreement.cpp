#include "lower/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "graph/op.h"
#include "lower/trial_data.h"
#include "plan/packing.h"

namespace lanner {
namespace {

/// Half of a unit in the last place, relative.
double roundoff(DType type) {
  switch (type) {
  case DType::f64:
    return std::ldexp(1.0, -53);
  case DType::f32:
    return std::ldexp(1.0, -24);
  case DType::f16:
    return std::ldexp(1.0, -11);
  case DType::bf16:
    return std::ldexp(1.0, -8);
  default:
    return std::ldexp(1.0, -3);
  }
}

double largest(DType type) {
  if (type == DType::f16) return 65504;
  if (type == DType::f32 || type == DType::bf16) return 3.38e38;
  return std::numeric_limits<double>::max();
}

/// The coarsest of the types that `node`, its body and the tactic's storages use.
double coarsest(const Node& node, const Tactic& tactic) {
  double found = 0;
  const auto add = [&](const Type& type, const Storage* storage) {
    if (!type.is_tensor()) return;
    const DType dtype = storage && storage->dtype ? *storage->dtype : type.dtype();
    if (is_float(dtype)) found = std::max(found, roundoff(dtype));
  };
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (const Value* value = node.inputs()[i]) add(value->type, &tactic.inputs.at(i));
  for (std::size_t i = 0; i < node.outputs().size(); ++i) add(node.output(i)->type, &tactic.outputs.at(i));
  for (const auto& region : node.regions())
    for (const auto& inner : region->nodes())
      for (const auto& output : inner->outputs()) add(output->type, nullptr);
  return found > 0 ? found : roundoff(DType::f32);
}

template<typename Test>
bool any_op(const Node& node, Test test) {
  if (node.kind() != "fused") return test(node);
  return std::ranges::any_of(node.regions(), [&](const auto& region) {
    return std::ranges::any_of(region->nodes(), [&](const auto& inner) { return test(*inner); });
  });
}

bool is_product(const Node& node) {
  static const std::set<std::string_view> products{"conv", "conv_transpose", "matmul", "gemm"};
  return products.contains(node.kind());
}

/// Operators whose result jumps where their operand moves a little.
bool has_steps(const Node& node) {
  static const std::set<std::string_view> steps{"floor",
                                                "ceil",
                                                "round",
                                                "sign",
                                                "mod",
                                                "equal",
                                                "less",
                                                "less_or_equal",
                                                "greater",
                                                "greater_or_equal",
                                                "arg_max",
                                                "arg_min",
                                                "top_k",
                                                "hardmax",
                                                "quantize_linear",
                                                "dynamic_quantize_linear",
                                                "thresholded_relu",
                                                "shrink",
                                                "hard_max",
                                                "resize",
                                                "grid_sample"};
  if (steps.contains(node.kind())) return true;
  if (node.kind() != "cast" || !node.input(0) || !node.input(0)->type.is_tensor()) return false;
  return is_float(node.input(0)->type.dtype()) && !is_float(node.output()->type.dtype());
}

template<typename T>
double root_mean_square(std::span<const T> values) {
  double squares = 0;
  std::uint64_t count = 0;
  for (const T value : values) {
    if (!std::isfinite(value)) continue;
    squares += static_cast<double>(value) * static_cast<double>(value);
    ++count;
  }
  return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
}

double root_mean_square(const Tensor& tensor) {
  if (tensor.dtype() == DType::f64) return root_mean_square(tensor.as<double>());
  const Tensor wide = pack(tensor, of_type(DType::f32));
  return root_mean_square(wide.as<float>());
}

/// Elements that go into one of the result.
double sum_length(const Node& node) {
  double in = 1, out = 1;
  for (const Value* value : node.inputs())
    if (value && value->type.is_static())
      in = std::max(in, static_cast<double>(value->type.shape().elements()));
  for (const auto& value : node.outputs())
    if (value->type.is_static()) out = std::max(out, static_cast<double>(value->type.shape().elements()));
  return std::max(1.0, in / out);
}

/// Elements of the rows whose sum `node` divides by, which all of a row's results have the error of.
double row_length(const Node& node) {
  static const std::set<std::string_view> lines{"softmax", "log_softmax", "lp_normalization"},
      rests{"layer_normalization", "rms_normalization"};
  if (!lines.contains(node.kind()) && !rests.contains(node.kind())) return 1;
  const Value* input = node.input(0);
  if (!input || !input->type.is_static() || input->type.rank() == 0) return 1;
  const Shape& shape = input->type.shape();
  const auto rank = static_cast<std::int64_t>(shape.rank());
  std::int64_t axis = node.attributes.integer("axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return 1;
  double length = 1;
  for (std::int64_t i = axis; i < (lines.contains(node.kind()) ? axis + 1 : rank); ++i)
    length *= static_cast<double>(shape[static_cast<std::size_t>(i)]);
  return std::max(1.0, length);
}

double longest_row(const Node& node) {
  double longest = 1;
  any_op(node, [&](const Node& inner) {
    longest = std::max(longest, row_length(inner));
    return false;
  });
  return longest;
}

/// The size of what a sum of products is before a function that ends it flattens it: near 0 the function
/// hands on the sum's error, which goes with the sum's size and not with that of its own results.
double scale_before(const Node& node, const Tensor& expected, double unit) {
  const Node* last = &node;
  if (node.kind() == "fused" && !node.regions().empty() && !node.regions()[0]->nodes().empty())
    last = &*node.regions()[0]->nodes().back();
  if (last->kind() != "tanh" || !is_float(expected.dtype())) return 0;
  const Tensor wide = pack(expected, of_type(DType::f32));
  double squares = 0;
  const std::span<const float> values = wide.as<float>();
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double before = std::atanh(std::min(std::abs(static_cast<double>(value)), 1 - unit));
    squares += before * before;
  }
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

/// Whether each element of the storage is an element of the tensor; empty: all are.
std::vector<bool> elements_of(const Shape& shape, const Layout& layout) {
  if (layout.blocks.empty() || layout.padded(shape) == shape) return {};
  Tensor ones = Tensor::allocate(DType::f32, shape);
  std::ranges::fill(ones.as<float>(), 1.0F);
  Storage storage;
  storage.layout = layout;
  const Tensor marked = pack(ones, storage);
  std::vector<bool> mask;
  for (const float value : marked.as<float>()) mask.push_back(value != 0);
  return mask;
}

template<typename T, typename Differs>
Difference compare_elements(std::span<const T> got, std::span<const T> expected,
                            const std::vector<bool>& mask, Differs differs) {
  Difference difference;
  difference.compared = got.size();
  for (std::size_t i = 0, k = 0; i < got.size(); ++i) {
    const bool padding = !mask.empty() && !mask[k];
    const bool wrong = padding ? got[i] != T{} : differs(got[i], expected[k]);
    if (wrong && (difference.elements++ == 0 || (padding && !difference.padding))) {
      difference.first = i;
      difference.padding = padding;
      difference.got = static_cast<double>(got[i]);
      difference.expected = static_cast<double>(expected[k]);
    }
    if (++k == expected.size()) k = 0;
  }
  return difference;
}

template<typename T>
Difference compare_reals(const Tensor& got, const Tensor& expected, const std::vector<bool>& mask,
                         const Tolerance& tolerance, double range) {
  return compare_elements<T>(got.as<T>(), expected.as<T>(), mask, [&](T a, T b) {
    if (!(std::abs(static_cast<double>(b)) <= range)) return false;
    return !(std::abs(static_cast<double>(a) - b) <=
             tolerance.absolute + tolerance.relative * std::abs(static_cast<double>(b)));
  });
}

Storage stored(DType type, const Layout& layout) {
  Storage storage;
  storage.dtype = type;
  storage.layout = layout;
  return storage;
}

DType compared_type(DType type) {
  if (type == DType::f64) return DType::f64;
  if (is_float(type)) return DType::f32;
  return type == DType::u64 || is_complex(type) ? type : DType::i64;
}

} // namespace

Tolerance tolerance_of(const Node& node, const Tactic& tactic, const Tensor& expected) {
  Tolerance tolerance;
  if (any_op(node, has_steps)) tolerance.fraction = 0.005;
  if (!is_float(expected.dtype())) return tolerance;
  const double unit = coarsest(node, tactic);
  const bool narrow = unit > roundoff(DType::f32);
  const bool product = any_op(node, is_product);
  const double scale = std::max(root_mean_square(expected), product ? scale_before(node, expected, unit) : 0);
  const double rows = longest_row(node);
  const double sums = 4 * roundoff(DType::f32) * std::sqrt(std::max(sum_length(node), rows));
  tolerance.relative = (narrow ? 8 : 64) * unit + (rows > 1 ? sums : 0);
  tolerance.absolute = scale * (narrow ? 8 * unit + sums : product ? 2e-4 : 2e-5 + sums) + unit * 1e-3;
  return tolerance;
}

std::string Difference::to_string() const {
  if (padding) return fmt::format("padding at {} is {}, expected 0", first, got);
  return fmt::format("{} of {} elements differ, the first at {}: {}, expected {}", elements, compared, first,
                     got, expected);
}

Tensor as_stored(const Tensor& wanted, const Shape& shape, const Layout& layout) {
  const Storage storage = stored(compared_type(wanted.dtype()), layout);
  return is_batch_outermost(layout) ? pack(wanted, storage) : repeated(wanted, shape, storage);
}

Difference compare(const Tensor& got, const Tensor& expected, const Tolerance& tolerance) {
  const std::vector<bool> mask = elements_of(expected.shape(), got.layout());
  const Tensor wide = pack(got, stored(expected.dtype(), got.layout()));
  const double range = largest(got.dtype());
  switch (expected.dtype()) {
  case DType::f32:
    return compare_reals<float>(wide, expected, mask, tolerance, range);
  case DType::f64:
    return compare_reals<double>(wide, expected, mask, tolerance, range);
  case DType::i64:
    return compare_elements<std::int64_t>(wide.as<std::int64_t>(), expected.as<std::int64_t>(), mask,
                                          [](std::int64_t a, std::int64_t b) { return a != b; });
  case DType::u64:
    return compare_elements<std::uint64_t>(wide.as<std::uint64_t>(), expected.as<std::uint64_t>(), mask,
                                           [](std::uint64_t a, std::uint64_t b) { return a != b; });
  default:
    break;
  }
  Difference difference; // complex numbers: every bit
  difference.compared = static_cast<std::uint64_t>(got.elements());
  if (std::memcmp(got.data(), expected.data(), std::min(got.bytes(), expected.bytes())) != 0)
    difference.elements = difference.compared;
  return difference;
}

} // namespace lanner
