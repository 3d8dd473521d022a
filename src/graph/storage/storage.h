#pragma once
// Storage: how a value is laid out in memory. Types say what a value means, storage how it is stored.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/device.h>
#include <lanner/dtype.h>
#include <lanner/layout.h>

namespace lanner {

class Node;
class Value;
struct Quantization;

/// A value that is a slice of a larger one: its elements are where they would be if its dim `axis` had `size`
/// elements. So it consists of slices of equal length, one for each element of the dims that the layout puts
/// outside of `axis`, with other elements between them.
struct Within {
  int axis = -1;         ///< Of the logical dims; -1: contiguous, not a slice.
  std::int64_t size = 0; ///< Elements along `axis`, at least those of the value.

  explicit operator bool() const noexcept { return axis >= 0; }
  friend bool operator==(const Within&, const Within&) = default;
};

struct Storage {
  std::optional<DType> dtype; ///< Unset: the type's own.
  Layout layout;              ///< Over the logical dims; empty is row-major.
  Device device;
  /// Quantisation (graph/storage/quantization.h), for which `dtype` is set; null: elements are plain numbers.
  /// Compared by content.
  std::shared_ptr<const Quantization> quantization;
  Within within; ///< Strides beyond those of the layout; accepted only where stated (graph/storage/within.h).
  Value* parent = nullptr; ///< Is inside that value's memory (copy-free concatenation, split, reshape).
  std::int64_t offset = 0; ///< Bytes from the parent's first byte.

  bool is_default() const noexcept;
  /// The only text form of a storage, in IR (after `@`), in keys and for people: `bf16 aBcd16b cuda:0
  /// scale=0.1 zero=3 within=1:256 in=%y+128`. The layout is always given, `row` where it is row-major;
  /// otherwise only non-default parts. Values are named by `name`, null: by their names in the graph.
  std::string to_string(const std::function<std::string(const Value&)>& name = {}) const;
  friend bool operator==(const Storage& a, const Storage& b);
};

/// Whether elements represent the same reals.
bool same_quantization(const Storage& a, const Storage& b);

/// The text of a storage of one of `node`'s values, independent of the graph's names: for keys of caches.
/// Values that it refers to are identified by their input index, as `%0`.
std::string storage_key(const Storage& storage, const Node& node);

} // namespace lanner
