#pragma once
// Parses the text form of storages, see Storage::to_string.

#include <cstddef>
#include <functional>
#include <string>

#include "graph/storage/storage.h"
#include "graph/text/lexer.h"

namespace lanner {

/// A reference to a value by name.
struct ValueReference {
  std::string name; ///< Empty: none.
  std::size_t offset = 0;
};

/// A parsed storage whose references are not resolved to values yet.
struct SpelledStorage {
  Storage storage; ///< Without the references.
  ValueReference parent, scale, zero;

  bool names_values() const { return !parent.name.empty() || !scale.name.empty() || !zero.name.empty(); }
  Storage resolved(const std::function<Value*(const ValueReference&)>& find) const;
};

/// Parses from after the `@`. Throws Error{bad_data} with the position. Whether the storage can hold a value
/// is checked by the verifier.
SpelledStorage parse_storage(Lexer& lexer);

} // namespace lanner
