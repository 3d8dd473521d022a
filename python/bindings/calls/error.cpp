// Errors and interruption.

#include <chrono>

#include <lanner/error.h>
#include <lanner/message.h>

#include "calls/bindings.h"

namespace lanner::python {

void register_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      const nb::object kinds = nb::module_::import_("lanner.errors").attr("BY_CODE");
      const nb::object kind = kinds[nb::str(std::string(to_string(error.code())).c_str())];
      PyErr_SetObject(kind.ptr(), text_of(error.message(), "backslashreplace").ptr());
    } catch (const std::bad_cast&) {
      PyErr_SetString(PyExc_TypeError, "a given value is of the wrong type or size");
    }
  });
}

void fail_type(std::string_view line) {
  throw nb::type_error(message_line(line).c_str());
}

void refuse(std::string_view option, nb::handle value, std::string_view fault, std::string_view expected) {
  std::string line = fmt::format("{}: {} {}", option, shown(value), fault);
  if (!expected.empty()) line += fmt::format("; expected {}", expected);
  fail_type(line);
}

Interruptible::Interruptible(nb::object progress) : progress_(std::move(progress)) {
  control_.cancel = CancelToken::create();
  // Another thread may keep the GIL for milliseconds, so without a callback it is acquired only periodically.
  static constexpr std::chrono::milliseconds timeout{50};
  control_.progress = [cancel = control_.cancel, callback = progress_.ptr(),
                       asked = std::chrono::steady_clock::now()](const ProgressUpdate& update) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (callback == Py_None && now - asked < timeout) return;
    asked = now;
    const HeldGil gil;
    if (!gil) return cancel.cancel();
    if (PyErr_Occurred()) return;
    if (PyErr_CheckSignals() != 0) return cancel.cancel();
    if (callback == Py_None) return;
    try {
      call_python(callback, nb::make_tuple(std::string(update.stage), update.done, update.total));
    } catch (nb::python_error& error) {
      error.restore();
      cancel.cancel();
    }
  };
}

void Interruptible::raise_interrupt() const {
  if (PyErr_Occurred()) throw nb::python_error();
}

} // namespace lanner::python
