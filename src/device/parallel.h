#pragma once
// Parallel loops on the CPU.

#include <cstdint>
#include <memory>

namespace lanner {

/// A non-owning reference to a `void(std::int64_t begin, std::int64_t end)`.
class RangeBody {
public:
  template<typename Body>
  explicit RangeBody(Body& body) noexcept
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_([](void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<Body*>(object))(begin, end);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};
void run_parallel(int threads, std::int64_t begin, std::int64_t end, std::int64_t grain, RangeBody body);
void run_each(int threads, std::int64_t count, RangeBody body);

/// Calls `body(first, last)` for ranges that cover [begin, end) once, on up to `threads` threads, the
/// caller's among them. Every range starts at a multiple of `grain` from `begin`; the ranges depend only on
/// the arguments, which thread runs them on core availability. A call from within a region runs on the
/// caller's thread alone. When bodies throw, the others still finish, then one of the exceptions is rethrown.
template<typename Body>
void parallel_for(int threads, std::int64_t begin, std::int64_t end, std::int64_t grain, Body&& body) {
  if (begin >= end) return;
  if (threads <= 1 || end - begin <= grain) return static_cast<void>(body(begin, end));
  run_parallel(threads, begin, end, grain, RangeBody(body));
}

/// Calls `body(i, i + 1)` for each i below `count`, on up to `threads` threads, each of which takes the next
/// one when it is done: for few and large work items. Otherwise as parallel_for().
template<typename Body>
void parallel_each(int threads, std::int64_t count, Body&& body) {
  run_each(threads, count, RangeBody(body));
}

} // namespace lanner
