#pragma once
// How a value lies in memory. Types say what a value means, storage how it is kept.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/device.h>
#include <lanner/dtype.h>
#include <lanner/layout.h>

namespace lanner {

class Value;

struct Storage {
  std::optional<DType> dtype; ///< Unset: the type's own.
  Layout layout;              ///< Over the logical dims; empty is row-major.
  Device device;
  double scale = 0; ///< Quantisation of integers that stand for reals: real = scale * (q - zero); 0: none.
  std::int32_t zero = 0;
  Value* parent = nullptr; ///< Lives inside that value's memory (copy-free concatenation, split, reshape).
  std::int64_t offset = 0; ///< Bytes from the parent's first byte.

  bool is_default() const noexcept;
  /// The one text of a storage, in IR (after `@`), in keys and for people: `bf16 aBcd16b cuda:0 scale=0.1
  /// zero=3 in=%y+128`. The layout is always named, `row` where it is row-major; of the rest what differs
  /// from the default.
  std::string to_string() const;
  friend bool operator==(const Storage&, const Storage&) = default;
};

} // namespace lanner
