#pragma once
// Whether these tests run under a sanitizer, which takes memory of its own. GCC and Clang say it in two ways.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LANNER_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LANNER_SANITIZED 1
#endif

namespace lanner::test {

#ifdef LANNER_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

} // namespace lanner::test
