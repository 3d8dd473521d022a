#include "engine/resources.h"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace lanner::python {
namespace {

/// A callable shared with threads unknown to Python; the last owner releases it.
std::shared_ptr<nb::object> shared(nb::handle callable, std::string_view name) {
  if (!PyCallable_Check(callable.ptr()))
    throw nb::type_error(fmt::format("{}: {} cannot be called", name, shown(callable)).c_str());
  return {new nb::object(nb::borrow(callable)), [](nb::object* object) {
            const HeldGil held;
            if (held) delete object; // else the interpreter is gone, and the object with it
          }};
}

std::string_view name_of(LogLevel level) {
  if (level == LogLevel::debug) return "debug";
  return level == LogLevel::info ? "info" : "warning";
}

/// A loop whose pieces must each run once.
class Loop {
public:
  Loop(int count, void (*piece)(void*, int), void* argument)
      : begun_(static_cast<std::size_t>(count)), left_(count), piece_(piece), argument_(argument) {}

  /// False where there is no such piece, or it was taken.
  bool take(int number) {
    return number >= 0 && number < static_cast<int>(begun_.size()) &&
           !begun_[static_cast<std::size_t>(number)].exchange(true);
  }
  /// Runs a taken piece.
  void run(int number) {
    piece_(argument_, number);
    if (left_.fetch_sub(1) == 1) left_.notify_all();
  }
  void finish() {
    for (int i = 0; i < static_cast<int>(begun_.size()); ++i)
      if (take(i)) run(i);
    for (int left = left_; left > 0; left = left_) left_.wait(left);
  }

private:
  std::vector<std::atomic<bool>> begun_;
  std::atomic<int> left_;
  void (*piece_)(void*, int);
  void* argument_;
};

/// Offers the loop to the executor. Needs the GIL.
void offer(const nb::object& executor, int count, const std::shared_ptr<Loop>& loop) {
  const nb::object piece = nb::cpp_function([loop](int number) {
    if (!loop->take(number))
      throw nb::value_error(fmt::format("piece {}: expected one that was not run yet", number).c_str());
    const ReleasedGil released;
    loop->run(number);
  });
  try {
    call_python(executor, nb::make_tuple(count, piece));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("executor");
  }
}

struct PythonExecutor {
  std::shared_ptr<nb::object> callable;
  Executor table{this, [](void* user, int count, void (*piece)(void*, int), void* argument) {
                   const auto loop = std::make_shared<Loop>(count, piece, argument);
                   {
                     const HeldGil held;
                     if (held) offer(*static_cast<PythonExecutor*>(user)->callable, count, loop);
                   }
                   loop->finish();
                 }};

  explicit PythonExecutor(std::shared_ptr<nb::object> given) : callable(std::move(given)) {}
  PythonExecutor(const PythonExecutor&) = delete;
  PythonExecutor& operator=(const PythonExecutor&) = delete;
};

} // namespace

LogCallback to_log(nb::handle log) {
  if (log.is_none()) return {};
  return [callable = shared(log, "log")](LogLevel level, std::string_view message) {
    const HeldGil held;
    if (!held) return;
    try {
      const std::string_view name = name_of(level);
      call_python(*callable, nb::make_tuple(nb::str(name.data(), name.size()), text_of(message, "replace")));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("log");
    }
  };
}

std::shared_ptr<const Executor> to_executor(nb::handle executor) {
  if (executor.is_none()) return nullptr;
  const auto made = std::make_shared<PythonExecutor>(shared(executor, "executor"));
  return {made, &made->table};
}

std::optional<lanner_allocator> to_allocator(nb::handle addresses) {
  if (addresses.is_none()) return std::nullopt;
  const auto [allocate, release, user] = with_option_named("allocator", addresses, [&] {
    return nb::cast<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t>>(addresses);
  });
  return lanner_allocator{reinterpret_cast<void*>(user),
                          reinterpret_cast<decltype(lanner_allocator::allocate)>(allocate),
                          reinterpret_cast<decltype(lanner_allocator::release)>(release)};
}

} // namespace lanner::python
