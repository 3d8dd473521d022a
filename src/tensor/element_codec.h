#pragma once
// Reads and writes elements of any numeric type through a few wide types, so that casts between N types need
// 2N loops and not N^2.

#include <cstddef>
#include <cstdint>
#include <span>

#include <lanner/dtype.h>

#include "tensor/minifloat.h"

namespace lanner {

/// The type that holds every value of a dtype exactly.
enum class Wide : std::uint8_t { f64, i64, u64 };
Wide wide_of(DType type) noexcept;

/// One wide element; the accompanying Wide says which member is active.
union WideValue {
  double f64;
  std::int64_t i64;
  std::uint64_t u64;
};

/// Reads elements at `offsets` (in elements, so also inside packed bytes) of `base`.
void read_elements(DType type, const std::byte* base, std::span<const std::int64_t> offsets,
                   WideValue* values);
/// Writes `offsets.size()` values of kind `wide`, by the rules of ONNX's Cast.
void write_elements(DType type, std::byte* base, std::span<const std::int64_t> offsets, Wide wide,
                    const WideValue* values, CastRules rules);

} // namespace lanner
