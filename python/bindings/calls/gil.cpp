#include "calls/gil.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <unistd.h>

namespace nb = nanobind;

namespace lanner::python {
namespace {

[[noreturn]] void sleep_until_the_process_ends() noexcept {
  for (;;) pause();
}

/// Counts threads unknown to Python that hold the GIL or wait for it.
class Outsiders {
public:
  /// False once the interpreter is ending.
  bool enter() {
    const std::lock_guard lock(mutex_);
    if (!ending_) ++inside_;
    return !ending_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
    left_.notify_all();
  }
  /// Rejects further threads and waits for those inside; one in a read that does not end is left behind.
  void end() {
    static constexpr std::chrono::seconds timeout{5};
    std::unique_lock lock(mutex_);
    ending_ = true;
    left_.wait_for(lock, timeout, [&] { return inside_ == 0; });
  }

private:
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;
  bool ending_ = false;
};

// Never destroyed, since threads may outlive static destructors. A forked child gets a fresh one, as it has
// none of the threads.
Outsiders* outsiders = new Outsiders;

} // namespace

ReleasedGil::ReleasedGil() noexcept : state_(PyEval_SaveThread()) {}

ReleasedGil::~ReleasedGil() {
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {
    sleep_until_the_process_ends();
  }
}

HeldGil::HeldGil() noexcept
    : outsider_(PyGILState_GetThisThreadState() == nullptr),
      held_(nb::is_alive() && (!outsider_ || outsiders->enter())) {
  if (!held_) return;
  try {
    state_ = PyGILState_Ensure();
  } catch (...) {
    sleep_until_the_process_ends();
  }
}

HeldGil::~HeldGil() {
  if (!held_) return;
  PyGILState_Release(state_);
  if (outsider_) outsiders->leave();
}

nb::object call_python(nb::handle callable, const nb::tuple& arguments) {
  PyObject* result = nullptr;
  try {
    result = PyObject_Call(callable.ptr(), arguments.ptr(), nullptr);
  } catch (...) {
    sleep_until_the_process_ends();
  }
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

void register_end(nb::module_&) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    const ReleasedGil released;
    outsiders->end();
  }));
  nb::module_::import_("os").attr("register_at_fork")(
      nb::arg("after_in_child") = nb::cpp_function([] { outsiders = new Outsiders; }));
}

} // namespace lanner::python
