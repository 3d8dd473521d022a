// Errors and interruption.

#include <lanner/error.h>

#include "bindings.h"

namespace lanner::python {

void register_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      const nb::object kinds = nb::module_::import_("lanner.errors").attr("BY_CODE");
      const nb::object kind = kinds[nb::str(std::string(to_string(error.code())).c_str())];
      PyErr_SetString(kind.ptr(), error.what());
    }
  });
}

Interruptible::Interruptible(nb::object progress) : progress_(std::move(progress)) {
  control_.cancel = CancelToken::create();
  control_.progress = [cancel = control_.cancel, callback = progress_.ptr()](const ProgressUpdate& update) {
    nb::gil_scoped_acquire acquire;
    if (PyErr_Occurred()) return;
    if (PyErr_CheckSignals() != 0) return cancel.cancel();
    if (callback == Py_None) return;
    try {
      nb::borrow(callback)(std::string(update.stage), update.done, update.total);
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
