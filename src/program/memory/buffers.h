#pragma once
// Which values of a lowered graph share memory.

#include <cstdint>
#include <map>
#include <set>

#include "graph/graph.h"

namespace lanner {

/// Where a value lies: `offset` bytes into the memory of `root`, a value that has its own.
struct Buffer {
  const Value* root = nullptr;
  std::uint64_t offset = 0;
};

/// Filled in the order in which nodes run: a view lies where its input was found to lie.
class Buffers {
public:
  /// Of a value that nothing was said of: memory of its own.
  Buffer of(const Value* value) const;
  /// Whether parts of other values lie in the memory of this root.
  bool holds_parts(const Value* root) const { return joined_.contains(root); }

  /// Parts of concatenations lie in the memory of these, and so do parts of parts. `lowered` has passed
  /// check_joins().
  void add_parts(const Graph& lowered);
  /// The outputs of a view are its input's memory, or parts of it. Throws Error{bad_data} where they cannot
  /// be.
  void add_view(const Node& node);
  /// `output` takes over the memory of `input`.
  void share(const Value* output, const Value* input) { buffers_[output] = of(input); }

private:
  void add_part_view(const Node& node);

  std::map<const Value*, Buffer> buffers_; ///< Of those without memory of their own.
  std::set<const Value*> joined_;          ///< Roots that hold parts.
};

} // namespace lanner
