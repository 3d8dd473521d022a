#pragma once
// Text between Python and C++, which need not be UTF-8: names in files and paths are bytes.

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

namespace lanner::python {

/// What Python makes of bytes; `errors` is Python's: "surrogateescape" keeps what is not UTF-8.
nanobind::str text_of(std::string_view bytes, const char* errors = "surrogateescape");
/// The bytes of a str. Every str has some: what stands for a byte becomes that, and a surrogate without its
/// other half, which no encoding has, three bytes that are no UTF-8. False for what is no str, with no Python
/// error.
bool take_text(nanobind::handle given, std::string& bytes) noexcept;

} // namespace lanner::python

// nanobind's own takes no str with surrogates, and gives out no bytes that are not UTF-8.
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
