#pragma once
// Keywords that functions take as a dict and hand on: one list of them tells stubs, and so editors, and
// errors.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "calls/bindings.h"

namespace lanner::python {

struct Keyword {
  std::string name, type;    ///< The type as a stub says it; None is taken too, and changes nothing.
  std::string standard = {}; ///< What it is where it is not given, as a stub says it; empty: None.
  std::string expected = {}; ///< What a TypeError says of it; empty: the type.
  std::string meaning = {};  ///< For docstrings.
  bool required = false;     ///< Has no default.

  Keyword of(std::string_view what) const {
    Keyword with = *this;
    with.meaning = what;
    return with;
  }
};

/// What Preprocess takes.
std::span<const Keyword> preprocess_keywords();
/// What to_tensor() and the like take: a Preprocess, as `spec` or without its name, and those.
std::span<const Keyword> picture_keywords();

/// A signature for nb::sig, with the keywords behind `begin`, which ends with the other parameters:
/// `def to_tensor(self` + `, *, size: tuple[int, int] | None = None, ...) -> ` + `result`.
/// Keywords that may be given by their place have no `*` in front.
std::string signature(std::string_view begin, std::span<const Keyword> keywords, std::string_view result,
                      bool by_place = false);

/// A line for each keyword that has a meaning: `name: meaning`.
std::string keyword_docs(std::span<const Keyword> keywords);

/// Why `given` cannot be meant: a name that is none of the keywords, and those that are. Empty where all are.
std::string unknown_option(const nb::kwargs& given, std::span<const Keyword> keywords);

/// Calls `apply(name, value)` for each that is given and not None. TypeError says which are not known, or
/// what one that does not fit was expected to be.
void apply_options(const nb::kwargs& given, std::span<const Keyword> keywords,
                   const std::function<void(const std::string& name, nb::handle value)>& apply);
/// TypeError where options are given without their names; `like` is one with its name.
void check_named(std::string_view function, const nb::args& others, std::string_view like);

} // namespace lanner::python
