#pragma once
// Which step writes a memory first, and which uses it last.

#include <cstddef>
#include <map>
#include <span>

#include "program/memory/buffers.h"
#include "program/program.h"

namespace lanner {

class MemoryUses {
public:
  MemoryUses() = default;
  /// `buffers` as they are for all steps.
  MemoryUses(std::span<const Step> steps, const Buffers& buffers);

  /// Whether a step writes `root`, and none that uses `other` is this one or comes later.
  bool written_behind(const Value& root, const Value& other) const;

private:
  std::map<const Value*, std::size_t> first_write_, last_use_; ///< By the value whose own the memory is.
};

} // namespace lanner
