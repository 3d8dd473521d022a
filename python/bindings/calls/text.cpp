#include "calls/text.h"

#include <lanner/error.h>

#include "calls/bindings.h"
#include "calls/check.h"

namespace lanner::python {

nb::str text_of(std::string_view bytes, const char* errors) {
  PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors);
  if (!text) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

bool take_text(nb::handle given, std::string& bytes) noexcept {
  if (!PyUnicode_Check(given.ptr())) return false;
  Py_ssize_t size = 0;
  if (const char* plain = PyUnicode_AsUTF8AndSize(given.ptr(), &size)) {
    bytes.assign(plain, static_cast<std::size_t>(size));
    return true;
  }
  for (const char* errors : {"surrogateescape", "surrogatepass"}) {
    PyErr_Clear();
    const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(given.ptr(), "utf-8", errors));
    char* data = nullptr;
    if (!encoded.is_valid() || PyBytes_AsStringAndSize(encoded.ptr(), &data, &size) != 0) continue;
    bytes.assign(data, static_cast<std::size_t>(size));
    return true;
  }
  PyErr_Clear();
  return false;
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
  // sliced by Python: never inside a character
  return bytes_of(text[nb::slice(most)], "backslashreplace") + "...";
}

} // namespace lanner::python
