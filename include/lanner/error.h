#pragma once
// The exception type of Lanner and the two functions that throw it.

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace lanner {

/// What kind of failure an Error reports; the command's exit code and the Python class follow from it.
enum class ErrorCode {
  invalid_argument, ///< An argument of the caller is invalid.
  not_found,        ///< A requested file, name or library does not exist.
  bad_data,         ///< Input data is malformed.
  limit_exceeded,   ///< A bound of `Limits` would be exceeded.
  unsupported,      ///< Valid, but not supported by this build or device.
  out_of_memory,    ///< An allocation failed (host, device or a cap).
  io,               ///< The operating system refused a read or write.
  cancelled,        ///< The caller's CancelToken was set.
  device,           ///< A driver or vendor library failed.
  internal,         ///< A bug in Lanner.
};

/// The name of a code as it appears in messages and in Python (`bad_data`).
std::string_view to_string(ErrorCode code) noexcept;

/// Every failure that Lanner reports. The message is one line: context outermost first, then what was found,
/// what was expected and what to do: `build resnet.onnx: node conv_12: softmax: axis 4 out of range for rank
/// 4`.
class Error : public std::exception {
public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  /// The same failure with `context: ` put before its message.
  Error within(std::string_view context) const;

private:
  ErrorCode code_;
  std::string message_;
};

namespace errors {

/// The non-inline part of fail() and check(), compiled once.
[[noreturn]] void throw_error(ErrorCode code, fmt::string_view format, fmt::format_args args);

/// Throws Error{code, formatted message}.
template<typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(code, format, fmt::make_format_args(args...));
}

/// Throws unless `condition` holds. The arguments are always evaluated; keep them cheap.
template<typename... Args>
void check(bool condition, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_error(code, format, fmt::make_format_args(args...));
}

/// Calls `body`; an Error or std::bad_alloc from it gets `context()` put before its message.
template<typename Body, typename Context>
decltype(auto) with_context(Context&& context, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw error.within(context());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "memory was refused by the system").within(context());
  }
}

} // namespace errors
} // namespace lanner
