#pragma once
// Releasing and acquiring the GIL, also on threads that may outlive the interpreter.

#include <nanobind/nanobind.h>

namespace lanner::python {

// Note [Threads at the interpreter's end]
// A daemon thread may be in one of our calls when the interpreter ends. Before 3.14 Python ends such a thread
// by pthread_exit when it requests the GIL, and that unwinding terminates the process when it meets a
// noexcept function or a catch that does not rethrow, as in every destructor and nanobind call. So it is
// caught where it begins, also in calls of Python code, and the thread sleeps for the rest of the process, as
// in Python 3.14. A thread of Lanner's own, which decodes from a Python file object, must not sleep:
// destructors join it. So once the interpreter is ending such threads do not get the GIL any more, and those
// that have it are waited for.

/// Replaces `nb::gil_scoped_release`; see the note.
class ReleasedGil {
public:
  ReleasedGil() noexcept;
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

private:
  PyThreadState* state_;
};

/// Replaces `nb::gil_scoped_acquire`; see the note. False where the interpreter is ending or
/// gone: Python must not be used then.
class HeldGil {
public:
  HeldGil() noexcept;
  ~HeldGil();
  HeldGil(const HeldGil&) = delete;
  HeldGil& operator=(const HeldGil&) = delete;
  explicit operator bool() const noexcept { return held_; }

private:
  bool outsider_; ///< On a thread unknown to Python.
  bool held_;
  PyGILState_STATE state_{};
};

/// Calls Python code that may release the GIL, as reading a file does; see the note.
nanobind::object call_python(nanobind::handle callable, const nanobind::tuple& arguments);

/// Registers a hook that keeps threads unknown to Python out when the interpreter ends.
void register_end(nanobind::module_& module);

} // namespace lanner::python
