#pragma once

#include <memory>

namespace lanner {

/// Whether nobody else owns it any more, so that it may be written to: what other owners read, in any thread,
/// they read before. `use_count` alone orders nothing; to add an owner and take it away does, as both change
/// the count that the last one left ([util.smartptr.shared]).
template<typename T>
bool sole_owner(const std::shared_ptr<T>& owner) {
  if (owner.use_count() != 1) return false;
  static_cast<void>(std::shared_ptr<T>(owner));
  return true;
}

} // namespace lanner
