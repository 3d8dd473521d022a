#pragma once
// Storages from text, see Storage::to_string.

#include <cstddef>
#include <functional>
#include <string>

#include "graph/storage/storage.h"
#include "graph/text/lexer.h"

namespace lanner {

/// A value that text names.
struct ValueReference {
  std::string name; ///< Empty: none.
  std::size_t offset = 0;
};

/// A storage as text spells it, before there are the values that it names.
struct SpelledStorage {
  Storage storage; ///< Without those.
  ValueReference parent, scale, zero;

  bool names_values() const { return !parent.name.empty() || !scale.name.empty() || !zero.name.empty(); }
  Storage resolved(const std::function<Value*(const ValueReference&)>& find) const;
};

/// From behind the `@`. Throws Error{bad_data} with the place. Whether the storage can hold a value is for
/// the verifier to say.
SpelledStorage parse_storage(Lexer& lexer);

} // namespace lanner
