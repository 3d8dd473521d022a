// Byte sources from Python objects.

#include <cstring>

#include <lanner/error.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/options.h"

namespace lanner::python {
namespace {

/// Shares a Python object with threads that may not hold the GIL.
std::shared_ptr<nb::object> shared(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            if (const HeldGil gil{}) delete held;
          }};
}

SourcePtr from_buffer(nb::handle object) {
  auto view = std::shared_ptr<Py_buffer>(new Py_buffer{}, [](Py_buffer* buffer) {
    const HeldGil gil;
    if (!gil) return;
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
    const nb::object position = call_python(object.attr("tell"), nb::make_tuple());
    size = nb::cast<std::int64_t>(call_python(object.attr("seek"), nb::make_tuple(0, 2)));
    call_python(object.attr("seek"), nb::make_tuple(position));
  }
  auto position = std::make_shared<std::uint64_t>(seekable ? UINT64_MAX : 0);
  const auto read = [file, position, seekable](std::uint64_t offset,
                                               std::span<std::byte> into) -> std::size_t {
    const HeldGil gil;
    check(static_cast<bool>(gil), ErrorCode::cancelled, "file object: Python is ending");
    if (offset != *position) {
      check(seekable, ErrorCode::io, "file object: it cannot seek to byte {} from {}", offset, *position);
      call_python(file->attr("seek"), nb::make_tuple(offset));
    }
    const nb::object data = call_python(file->attr("read"), nb::make_tuple(into.size()));
    const nb::bytes bytes = nb::bytes(data);
    check(bytes.size() <= into.size(), ErrorCode::io, "file object: read({}) returned {} bytes", into.size(),
          bytes.size());
    std::memcpy(into.data(), bytes.c_str(), bytes.size());
    *position = offset + bytes.size();
    return bytes.size();
  };
  return open_callback(read, size, seekable, "file object");
}

} // namespace

Limits to_limits(nb::handle limits) {
  Limits result;
  if (limits.is_none()) return result;
  for (const auto& [key, value] : to_dict("limits", limits, "a dict like {\"total_bytes\": \"4GiB\"}"))
    set_limit(result,
              fmt::format("{}={}", bytes_of(nb::str(key), "replace"), bytes_of(nb::str(value), "replace")));
  return result;
}

SourcePtr to_source(nb::handle object, const Limits& limits) {
  if (nb::isinstance<nb::str>(object) || nb::hasattr(object, "__fspath__"))
    return open_path(path_of(object), limits);
  if (PyObject_CheckBuffer(object.ptr())) return from_buffer(object);
  if (nb::hasattr(object, "SerializeToString")) return from_buffer(object.attr("SerializeToString")());
  if (nb::hasattr(object, "read")) return from_file(object);
  fail(ErrorCode::invalid_argument, "expected a path, bytes or a binary file object, got {}",
       shown(object.type()));
}

} // namespace lanner::python
