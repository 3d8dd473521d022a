// Text between Python and C++, which need not be UTF-8: names in files and paths are bytes.

#include <lanner/error.h>

#include "bindings.h"
#include "check.h"

namespace lanner::python {

nb::str text_of(std::string_view bytes, const char* errors) {
  PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors);
  if (!text) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

std::string bytes_of(nb::handle text, const char* errors) {
  nb::object bytes = nb::borrow(text);
  if (!nb::isinstance<nb::bytes>(text)) {
    bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", errors));
    if (!bytes.is_valid()) throw nb::python_error();
  }
  const auto& raw = nb::cast<nb::bytes>(bytes);
  return {raw.c_str(), raw.size()};
}

std::string path_of(nb::handle object) {
  std::string path = bytes_of(nb::module_::import_("os").attr("fsencode")(object), "strict");
  if (path.find('\0') != std::string::npos)
    fail(ErrorCode::invalid_argument, "path {}: expected no zero byte inside", shown(object));
  return path;
}

std::string shown(nb::handle value) {
  constexpr std::size_t most = 80;
  nb::str text = nb::repr(value);
  if (bytes_of(text, "backslashreplace").find('\n') != std::string::npos)
    text = nb::str(nb::str(" ").attr("join")(text.attr("split")()));
  if (nb::len(text) <= most) return bytes_of(text, "backslashreplace");
  // Cut by Python: never inside a character.
  return bytes_of(text[nb::slice(most)], "backslashreplace") + "...";
}

} // namespace lanner::python
