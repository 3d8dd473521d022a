#pragma once

#include <memory>

namespace lanner {

/// Whether this is the only owner, so that the object may be written: all reads by former owners, in any
/// thread, happened before. `use_count` alone synchronises nothing; adding and removing an owner does, as
/// both modify the count that the last owner released ([util.smartptr.shared]).
template<typename T>
bool sole_owner(const std::shared_ptr<T>& owner) {
  if (owner.use_count() != 1) return false;
  static_cast<void>(std::shared_ptr<T>(owner));
  return true;
}

} // namespace lanner
