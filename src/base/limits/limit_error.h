#pragma once
// The common form of errors caused by a limit.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <lanner/error.h>

namespace lanner {

/// How to raise the limit of this name and value: it may be set by the calling thread's environment.
std::string limit_remedy(std::string_view name, double bound);

/// `3 nodes, over the limit nodes of 2; if the input is trusted, raise it with --limit nodes=N`
template<typename Bound>
std::string limit_message(std::string_view name, Bound bound, std::string_view found) {
  return fmt::format("{}, over the limit {} of {}; if the input is trusted, {}", found, name, bound,
                     limit_remedy(name, static_cast<double>(bound)));
}

/// Throws Error{limit_exceeded}: what was found, the member of Limits that refuses it, its value, and the
/// flag that raises it.
template<typename Bound, typename... Args>
[[noreturn]] void fail_limit(std::string_view name, Bound bound, fmt::format_string<Args...> format,
                             Args&&... args) {
  throw Error(ErrorCode::limit_exceeded,
              limit_message(name, bound, fmt::format(format, std::forward<Args>(args)...)));
}

/// fail_limit() unless `value` is at most `bound`.
template<typename Value, typename Bound, typename... Args>
void check_limit(std::string_view name, Value value, Bound bound, fmt::format_string<Args...> format,
                 Args&&... args) {
  if (value > bound) [[unlikely]]
    fail_limit(name, bound, format, std::forward<Args>(args)...);
}

/// `a * b`, bounded by a limit: sizes are multiplied before memory is allocated.
inline std::uint64_t limited_product(std::string_view name, std::uint64_t bound, std::uint64_t a,
                                     std::uint64_t b, std::string_view what) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > bound)
    fail_limit(name, bound, "{}: {} x {}", what, a, b);
  return product;
}

} // namespace lanner
