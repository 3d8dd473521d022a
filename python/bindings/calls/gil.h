#pragma once
// Python's lock let go of and taken, by threads that may outlive the interpreter too.

#include <nanobind/nanobind.h>

namespace lanner::python {

// Note [Threads at the interpreter's end]
// A daemon thread may be in a call of ours when the interpreter ends. Before 3.14 Python ends such a thread
// by pthread_exit once it asks for the lock, and that unwinding terminates the process where it meets a
// noexcept function or a catch that does not rethrow, as every destructor and nanobind's calls are. So it is
// caught where it begins, in calls of Python code too, and the thread sleeps for what is left of the process,
// as Python 3.14 itself does.
// A thread of Lanner's own, one that decodes from a file object of Python's, may not sleep: destructors join
// it. So once the interpreter is ending these get the lock no more, and those that are at it are waited for.

/// What `nb::gil_scoped_release` is; see the note.
class ReleasedGil {
public:
  ReleasedGil() noexcept;
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

private:
  PyThreadState* state_;
};

/// What `nb::gil_scoped_acquire` is; see the note. False where the interpreter is ending or
/// gone: nothing of Python may be touched then.
class HeldGil {
public:
  HeldGil() noexcept;
  ~HeldGil();
  HeldGil(const HeldGil&) = delete;
  HeldGil& operator=(const HeldGil&) = delete;
  explicit operator bool() const noexcept { return held_; }

private:
  bool outsider_; ///< On a thread that Python does not know.
  bool held_;
  PyGILState_STATE state_{};
};

/// Calls Python code that may let go of the lock, as reading a file does; see the note.
nanobind::object call_python(nanobind::handle callable, const nanobind::tuple& arguments);

/// Has threads that Python does not know kept away from it when it ends.
void register_end(nanobind::module_& module);

} // namespace lanner::python
