#pragma once
// Aliasing: which values of a lowered graph share memory.

#include <cstdint>
#include <map>
#include <set>

#include "graph/graph.h"

namespace lanner {

/// Memory of a value: `offset` bytes into that of `root`, a value with memory of its own.
struct Buffer {
  const Value* root = nullptr;
  std::uint64_t offset = 0;
};

/// Filled in execution order: a view gets the buffer of its input.
class Buffers {
public:
  /// The value's buffer; its own memory where nothing was set.
  Buffer of(const Value* value) const;
  /// Whether other values are parts of this root's memory.
  bool holds_parts(const Value* root) const { return joined_.contains(root); }

  /// Puts parts of concatenations, and parts of parts, into the memory of their results. `lowered` has passed
  /// check_joins().
  void add_parts(const Graph& lowered);
  /// The outputs of a view are its input's memory, or parts of it. Throws Error{bad_data} where they cannot
  /// be.
  void add_view(const Node& node);
  /// `output` uses the memory of `input`.
  void share(const Value* output, const Value* input) { buffers_[output] = of(input); }

private:
  void add_part_view(const Node& node);

  std::map<const Value*, Buffer> buffers_; ///< Of those without memory of their own.
  std::set<const Value*> joined_;          ///< Roots that hold parts.
};

} // namespace lanner
