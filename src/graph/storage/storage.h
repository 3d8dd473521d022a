#pragma once
// How a value lies in memory. Types say what a value means, storage how it is kept.

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

/// That a value lies in memory as a part of a larger one: where that value would, if its dim `axis` had
/// `size` elements. So it is slices of equal length, one for each element of the dims that the layout puts
/// outside of `axis`, with elements of others between them.
struct Within {
  int axis = -1;         ///< Of the logical dims; -1: it is whole, and nothing lies between its elements.
  std::int64_t size = 0; ///< Elements, no fewer than the value has there.

  explicit operator bool() const noexcept { return axis >= 0; }
  friend bool operator==(const Within&, const Within&) = default;
};

struct Storage {
  std::optional<DType> dtype; ///< Unset: the type's own.
  Layout layout;              ///< Over the logical dims; empty is row-major.
  Device device;
  /// How elements stand for reals (graph/storage/quantization.h), of which `dtype` is then given; null: they
  /// are what they say. Compared by what it says.
  std::shared_ptr<const Quantization> quantization;
  Within within; ///< Strides beyond those of the layout; only what says so takes it (graph/storage/within.h).
  Value* parent = nullptr; ///< Lives inside that value's memory (copy-free concatenation, split, reshape).
  std::int64_t offset = 0; ///< Bytes from the parent's first byte.

  bool is_default() const noexcept;
  /// The one text of a storage, in IR (after `@`), in keys and for people: `bf16 aBcd16b cuda:0 scale=0.1
  /// zero=3 within=1:256 in=%y+128`. The layout is always named, `row` where it is row-major; of the rest
  /// what differs from the default. Values are named by `name`, null: by their names in the graph.
  std::string to_string(const std::function<std::string(const Value&)>& name = {}) const;
  friend bool operator==(const Storage& a, const Storage& b);
};

/// Whether elements stand for the same reals.
bool same_quantization(const Storage& a, const Storage& b);

/// The text of a storage of one of `node`'s values where graphs may differ: in the keys of caches. The values
/// that it names are told by the input of `node` that they are, as `%0`, whatever a graph calls them.
std::string storage_key(const Storage& storage, const Node& node);

} // namespace lanner
