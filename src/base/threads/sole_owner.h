#pragma once

#include <memory>

namespace lanner {

/// Whether nobody else owns it any more, so that it may be written to: reads by former owners, in any thread,
/// happened before. `use_count` alone is not a synchronisation; adding and removing an owner is, as both
/// change the count that the last owner left ([util.smartptr.shared]).
template<typename T>
bool sole_owner(const std::shared_ptr<T>& owner) {
  if (owner.use_count() != 1) return false;
  static_cast<void>(std::shared_ptr<T>(owner));
  return true;
}

} // namespace lanner
