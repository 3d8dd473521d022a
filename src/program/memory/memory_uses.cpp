#include "program/memory/memory_uses.h"

namespace lanner {

MemoryUses::MemoryUses(std::span<const Step> steps, const Buffers& buffers) {
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (const Value* input : steps[s].node->inputs())
      if (input) last_use_[buffers.of(input).root] = s;
    for (const auto& output : steps[s].node->outputs()) {
      const Value* root = buffers.of(output.get()).root;
      first_write_.emplace(root, s);
      last_use_[root] = s;
    }
  }
}

bool MemoryUses::written_behind(const Value& root, const Value& other) const {
  const auto written = first_write_.find(&root);
  const auto used = last_use_.find(&other);
  return written != first_write_.end() && (used == last_use_.end() || used->second < written->second);
}

} // namespace lanner
