#pragma once
// First write and last use of each memory.

#include <cstddef>
#include <map>
#include <span>

#include "program/memory/buffers.h"
#include "program/program.h"

namespace lanner {

class MemoryUses {
public:
  MemoryUses() = default;
  /// `buffers`: final, with all steps' values.
  MemoryUses(std::span<const Step> steps, const Buffers& buffers);

  /// Whether a step writes `root`, and all uses of `other` are in earlier steps.
  bool written_behind(const Value& root, const Value& other) const;

private:
  std::map<const Value*, std::size_t> first_write_, last_use_; ///< By root value of the memory.
};

} // namespace lanner
