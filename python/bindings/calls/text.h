#pragma once
// Conversion of text that need not be UTF-8: names in files and paths are bytes.

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

namespace lanner::python {

/// Decodes bytes to str; `errors` is Python's: "surrogateescape" keeps what is not UTF-8.
nanobind::str text_of(std::string_view bytes, const char* errors = "surrogateescape");
/// Encodes any str: escaped bytes are restored, and a lone surrogate, which no encoding has, becomes three
/// bytes of invalid UTF-8. False if it is not a str, without a Python error.
bool take_text(nanobind::handle given, std::string& bytes) noexcept;

} // namespace lanner::python

// nanobind's own caster accepts no str with surrogates and returns no bytes that are not UTF-8.
template<>
struct nanobind::detail::type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle given, uint32_t, cleanup_list*) noexcept {
    return lanner::python::take_text(given, value);
  }
  static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  }
};
