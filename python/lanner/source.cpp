// Byte sources from Python objects.

#include <cstring>

#include <lanner/error.h>

#include "bindings.h"

namespace lanner::python {
namespace {

/// Holds a Python object from threads that may not hold the GIL.
std::shared_ptr<nb::object> shared(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            nb::gil_scoped_acquire acquire;
            delete held;
          }};
}

SourcePtr from_buffer(nb::handle object) {
  auto view = std::shared_ptr<Py_buffer>(new Py_buffer{}, [](Py_buffer* buffer) {
    nb::gil_scoped_acquire acquire;
    PyBuffer_Release(buffer);
    delete buffer;
  });
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_SIMPLE) != 0) throw nb::python_error();
  const std::span bytes(static_cast<const std::byte*>(view->buf), static_cast<std::size_t>(view->len));
  return open_bytes(bytes, view, "bytes");
}

SourcePtr from_file(nb::handle object) {
  auto file = shared(nb::borrow(object));
  const bool seekable = nb::hasattr(object, "seekable") && nb::cast<bool>(object.attr("seekable")());
  std::int64_t size = -1;
  if (seekable) {
    const nb::object place = object.attr("tell")();
    size = nb::cast<std::int64_t>(object.attr("seek")(0, 2));
    object.attr("seek")(place);
  }
  auto place = std::make_shared<std::uint64_t>(seekable ? UINT64_MAX : 0);
  const auto read = [file, place, seekable](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
    nb::gil_scoped_acquire acquire;
    if (offset != *place) {
      check(seekable, ErrorCode::io, "file object: it cannot seek, byte {} was asked for at {}", offset,
            *place);
      file->attr("seek")(offset);
    }
    const nb::object data = file->attr("read")(into.size());
    const nb::bytes bytes = nb::bytes(data);
    check(bytes.size() <= into.size(), ErrorCode::io, "file object: read({}) gave {} bytes", into.size(),
          bytes.size());
    std::memcpy(into.data(), bytes.c_str(), bytes.size());
    *place = offset + bytes.size();
    return bytes.size();
  };
  return open_callback(read, size, seekable, "file object");
}

} // namespace

SourcePtr to_source(nb::handle object) {
  const nb::module_ os = nb::module_::import_("os");
  if (nb::isinstance<nb::str>(object) || nb::hasattr(object, "__fspath__"))
    return open_path(nb::cast<std::string>(os.attr("fsdecode")(object)));
  if (PyObject_CheckBuffer(object.ptr())) return from_buffer(object);
  if (nb::hasattr(object, "SerializeToString")) return from_buffer(object.attr("SerializeToString")());
  if (nb::hasattr(object, "read")) return from_file(object);
  fail(ErrorCode::invalid_argument, "expected a path, bytes or a binary file object, got {}",
       nb::cast<std::string>(nb::str(nb::borrow(object).type())));
}

} // namespace lanner::python
