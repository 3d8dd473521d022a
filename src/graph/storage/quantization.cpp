#include "graph/storage/quantization.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "graph/graph.h"
#include "graph/text/lexer.h"

namespace lanner {
namespace {

/// Limit on nested scales (scales that are themselves quantised): NVFP4 has one such level.
constexpr std::size_t max_values = 16;

std::string numbers_text(const QuantizationNumbers& given, const ValueNamer& name, bool whole) {
  if (given.value) return name ? name(*given.value) : value_name(given.value->name());
  const auto text = [&](double number) {
    return whole ? fmt::format("{}", static_cast<std::int64_t>(number)) : real_text(number);
  };
  if (given.numbers.size() == 1) return text(given.numbers[0]);
  std::string list;
  for (const double number : given.numbers) list += (list.empty() ? "" : ", ") + text(number);
  return "[" + list + "]";
}

/// The range of a stored type; float types cannot have zero points.
std::pair<double, double> range_of(DType stored) {
  if (!is_integer(stored)) return {0, 0};
  const auto bits = static_cast<int>(bit_width(stored));
  if (is_signed(stored)) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0, std::ldexp(1.0, bits) - 1};
}

bool can_be_scale(DType type) {
  return is_float(type) && (bit_width(type) >= 8);
}

/// Whether a value has a valid shape of scales: one element, one per index of the axis, or one per block.
bool fits_shape(const Shape& given, const Type& type, const Quantization& q) {
  if (q.axis < 0) return given.elements() == 1;
  if (!type.is_static()) return true;
  const Shape shape = type.shape();
  const auto axis = static_cast<std::size_t>(q.axis);
  if (q.block == 0) return given.rank() == 1 && given[0] == shape[axis];
  if (given.rank() != shape.rank()) return false;
  for (std::size_t d = 0; d < shape.rank(); ++d)
    if (given[d] != (d == axis ? (shape[d] + q.block - 1) / q.block : shape[d])) return false;
  return true;
}

void check_shape(const Type& type, const Quantization& q) {
  check(q.axis >= -1, ErrorCode::invalid_argument, "quantization axis {}, expected 0 or more", q.axis);
  check(!type.ranked() || q.axis < static_cast<int>(type.rank()), ErrorCode::invalid_argument,
        "quantization axis {} of a value of rank {}", q.axis, type.ranked() ? type.rank() : 0);
  check(q.block >= 0 && (q.block == 0 || q.axis >= 0), ErrorCode::invalid_argument,
        "quantization block {} along axis {}, expected 1 or more elements along an axis", q.block, q.axis);
}

void check_numbers(const char* what, const QuantizationNumbers& given, const Type& type,
                   const Quantization& q) {
  if (given.value) {
    const Type& own = given.value->type;
    check(own.is_tensor() && (!own.is_static() || fits_shape(own.shape(), type, q)),
          ErrorCode::invalid_argument, "quantization {} of type {} for {} along axis {} in blocks of {}",
          what, own.to_string(), type.to_string(), q.axis, q.block);
    return;
  }
  const std::size_t count = given.numbers.size();
  check(q.block == 0 || count == 0, ErrorCode::invalid_argument,
        "quantization {} of blocks is a list of numbers, expected a value", what);
  const bool along = q.axis >= 0 && type.ranked();
  const auto size = along ? type.dims()[static_cast<std::size_t>(q.axis)].constant() : std::nullopt;
  const bool fits = count <= 1 || (q.axis >= 0 && (!size || static_cast<std::size_t>(*size) == count));
  check(fits, ErrorCode::invalid_argument, "quantization {} has {} numbers, expected one{}", what, count,
        size ? fmt::format(", or {} along axis {}", *size, q.axis) : "");
}

void check_scale(const Type& type, const Quantization& q) {
  check(q.scale.given(), ErrorCode::invalid_argument, "quantization without a scale");
  check_numbers("scale", q.scale, type, q);
  if (q.scale.value)
    check(can_be_scale(q.scale.value->type.dtype()), ErrorCode::invalid_argument,
          "quantization scale of type {}, expected reals of 8 bits or more", q.scale.value->type.to_string());
  for (const double scale : q.scale.numbers)
    check(std::isfinite(scale) && scale > 0, ErrorCode::invalid_argument,
          "quantization scale {}, expected a finite number above 0", scale);
}

void check_zero(const Type& type, DType stored, const Quantization& q) {
  check_numbers("zero point", q.zero, type, q);
  if (q.zero.value) {
    const Value& zero = *q.zero.value;
    const bool unsaid = zero.type == Type{}; // before inference
    check((unsaid || zero.type.dtype() == stored) && !zero.storage.quantization, ErrorCode::invalid_argument,
          "quantization zero point of type {}, expected {} as it is", zero.type.to_string(),
          to_string(stored));
  }
  const auto [least, most] = range_of(stored);
  for (const double zero : q.zero.numbers)
    check(zero >= least && zero <= most && zero == std::trunc(zero), ErrorCode::invalid_argument,
          "quantization zero point {}, expected a whole number of {}", zero, to_string(stored));
}

void gather(const Storage& storage, std::vector<Value*>& values) {
  if (!storage.quantization) return;
  for (Value* value : {storage.quantization->scale.value, storage.quantization->zero.value}) {
    if (!value || std::ranges::count(values, value)) continue;
    check(values.size() < max_values, ErrorCode::invalid_argument,
          "nested scales: the storage of one value depends on more than {} values", max_values);
    values.push_back(value);
    gather(value->storage, values);
  }
}

} // namespace

std::size_t QuantizationNumbers::count() const {
  if (!value) return numbers.size();
  return value->type.is_static() ? static_cast<std::size_t>(value->type.shape().elements()) : 0;
}

std::string to_string(const Quantization& q, const ValueNamer& name) {
  std::string text = "scale=" + numbers_text(q.scale, name, false);
  if (q.zero.given()) text += " zero=" + numbers_text(q.zero, name, true);
  if (q.axis >= 0) text += fmt::format(" axis={}", q.axis);
  if (q.block > 0) text += fmt::format(" block={}", q.block);
  return text;
}

bool can_be_quantized(DType stored) {
  return is_integer(stored) ? bit_width(stored) <= 32 : is_float(stored) && bit_width(stored) <= 8;
}

void check_quantization(const Type& type, const Storage& storage) {
  if (!storage.quantization) return;
  const Quantization& q = *storage.quantization;
  check(type.is_tensor() && is_float(type.dtype()) && bit_width(type.dtype()) >= 16,
        ErrorCode::invalid_argument, "quantization of {}, expected a tensor of reals", type.to_string());
  check(storage.dtype && can_be_quantized(*storage.dtype), ErrorCode::invalid_argument,
        "quantization stored as {}, expected integers of up to 32 bits or floats of up to 8",
        to_string(storage.dtype.value_or(type.dtype())));
  check_shape(type, q);
  check_scale(type, q);
  check_zero(type, *storage.dtype, q);
}

std::vector<Value*> values_of(const Storage& storage) {
  std::vector<Value*> values;
  gather(storage, values);
  return values;
}

Storage with_values(Storage storage, const std::function<Value*(Value*)>& map) {
  if (!storage.quantization) return storage;
  Quantization q = *storage.quantization;
  if (!q.scale.value && !q.zero.value) return storage;
  for (QuantizationNumbers* each : {&q.scale, &q.zero})
    if (each->value) each->value = map(each->value);
  storage.quantization = std::make_shared<const Quantization>(std::move(q));
  return storage;
}

} // namespace lanner
