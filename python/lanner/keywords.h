#pragma once
// Keywords that functions take as a dict and hand on: one list of them tells stubs, and so editors, and
// errors.

#include <span>
#include <string>
#include <string_view>

#include "bindings.h"

namespace lanner::python {

struct Keyword {
  std::string_view name, type; ///< The type as a stub says it; None is taken too, and changes nothing.
};

/// What Preprocess and each to_tensor() take.
std::span<const Keyword> preprocess_keywords();

/// A signature for nb::sig, with the keywords behind `begin`, which ends with the other parameters:
/// `def to_tensor(self` + `, *, size: tuple[int, int] | None = None, ...) -> ` + `result`.
std::string signature(std::string_view begin, std::span<const Keyword> keywords, std::string_view result);

/// Why `given` cannot be meant: a name that is none of the keywords, and those that are. Empty where all are.
std::string unknown_option(const nb::kwargs& given, std::span<const Keyword> keywords);

} // namespace lanner::python
