#include "lower/check/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "graph/op.h"
#include "lower/check/trial_data.h"
#include "program/weights/packing.h"

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

/// The coarsest of the types that `node`, its region and the tactic's storages use.
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
  if (!is_group(node)) return test(node);
  return std::ranges::any_of(node.regions(), [&](const auto& region) {
    return std::ranges::any_of(region->nodes(), [&](const auto& inner) { return test(*inner); });
  });
}

bool is_contraction(const Node& node) {
  return pattern_of(node) == Pattern::contraction;
}

/// Whether the function is discontinuous. A change of type between reals does not.
bool has_steps(const Node& node) {
  const Traits& traits = node.op().traits;
  if (!traits.discontinuous || traits.pattern != Pattern::movement) return traits.discontinuous;
  const Value* input = node.input(0);
  return input && input->type.is_tensor() && is_float(input->type.dtype()) &&
         !is_float(node.output()->type.dtype());
}

bool accumulates(const Node& node) {
  return node.op().traits.accumulates;
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

/// Number of elements summed into one element of the result.
double sum_length(const Node& node) {
  if (!any_op(node, accumulates)) return 1;
  double in = 1, out = 1;
  for (const Value* value : node.inputs())
    if (value && value->type.is_static())
      in = std::max(in, static_cast<double>(value->type.shape().elements()));
  for (const auto& value : node.outputs())
    if (value->type.is_static()) out = std::max(out, static_cast<double>(value->type.shape().elements()));
  return std::max(1.0, in / out);
}

double longest_row(const Node& node) {
  double longest = 1;
  any_op(node, [&](const Node& inner) {
    // All results of a line carry the error of the sum that divides them, and each step that of the steps
    // before it.
    const auto& length = inner.op().traits.line_length;
    if (length) longest = std::max(longest, length(inner));
    return false;
  });
  return longest;
}

/// Magnitude of a sum of products before a saturating function (tanh and such) that follows it: near 0 the
/// function passes on the sum's error, which grows with the sum's magnitude, not with its own result's.
double scale_before(const Node& node, const Tensor& expected, double unit) {
  const Node* last = &node;
  if (is_group(node) && !node.regions().empty() && !node.regions()[0]->nodes().empty())
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

Tolerances::Tolerances(const Node& node, const Tactic& tactic)
    : node_(node), unit_(coarsest(node, tactic)), rows_(longest_row(node)),
      sums_(4 * roundoff(DType::f32) * std::sqrt(std::max(sum_length(node), rows_))),
      steps_(any_op(node, has_steps)), product_(any_op(node, is_contraction)) {}

Tolerance Tolerances::of(const Tensor& expected) const {
  Tolerance tolerance;
  if (steps_) tolerance.fraction = 0.005;
  if (!is_float(expected.dtype())) return tolerance;
  const bool narrow = unit_ > roundoff(DType::f32);
  const double scale =
      std::max(root_mean_square(expected), product_ ? scale_before(node_, expected, unit_) : 0);
  tolerance.relative = (narrow ? 8 : 64) * unit_ + (rows_ > 1 ? sums_ : 0);
  tolerance.absolute = scale * (narrow ? 8 * unit_ + sums_ : product_ ? 2e-4 : 2e-5 + sums_) + unit_ * 1e-3;
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
