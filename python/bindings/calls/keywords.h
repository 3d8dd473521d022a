#pragma once
// Keyword arguments that functions accept as a dict: one list for stubs, docstrings and errors.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "calls/bindings.h"

namespace lanner::python {

struct Keyword {
  std::string name, type;    ///< The type in stubs; None is accepted too and means unset.
  std::string standard = {}; ///< The default value in stubs; empty: None.
  std::string expected = {}; ///< What a TypeError says was expected; empty: the type.
  std::string meaning = {};  ///< For docstrings.
  bool required = false;     ///< Has no default.

  Keyword of(std::string_view what) const {
    Keyword with = *this;
    with.meaning = what;
    return with;
  }
};

/// Keywords of Preprocess.
std::span<const Keyword> preprocess_keywords();
/// Keywords of functions like to_tensor(): a Preprocess, as `spec` or positional, and those of Preprocess.
std::span<const Keyword> picture_keywords();

/// A signature for nb::sig, with the keywords after `begin`, which contains the other parameters:
/// `def to_tensor(self` + `, *, size: tuple[int, int] | None = None, ...) -> ` + `result`.
/// `by_place`: keywords may be positional, so there is no `*` before them.
std::string signature(std::string_view begin, std::span<const Keyword> keywords, std::string_view result,
                      bool by_place = false);

/// A line for each keyword that has a meaning: `name: meaning`.
std::string keyword_docs(std::span<const Keyword> keywords);

/// An error text if `given` has an unknown name, with the known ones. Empty if all are known.
std::string unknown_option(const nb::kwargs& given, std::span<const Keyword> keywords);

/// Calls `apply(name, value)` for each that is given and not None. TypeError names unknown ones, or what was
/// expected for one that does not fit.
void apply_options(const nb::kwargs& given, std::span<const Keyword> keywords,
                   const std::function<void(const std::string& name, nb::handle value)>& apply);
/// TypeError where options are given without names; `like` is an example with its name.
void check_named(std::string_view function, const nb::args& others, std::string_view like);

} // namespace lanner::python
