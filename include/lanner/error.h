#pragma once
// The one exception type of Lanner and the two ways to throw it.

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace lanner {

/// What kind of failure an Error reports; the command's exit code and the Python class follow from it.
enum class ErrorCode {
  invalid_argument, ///< The caller asked for something that makes no sense.
  not_found,        ///< A file, name or library that was asked for does not exist.
  bad_data,         ///< Bytes from outside are malformed.
  limit_exceeded,   ///< A bound of `Limits` would be passed.
  unsupported,      ///< Valid, but not something this build or device can do.
  out_of_memory,    ///< Memory was refused (host, device or a cap).
  io,               ///< The operating system refused a read or write.
  cancelled,        ///< The caller's CancelToken was set.
  device,           ///< A driver or vendor library failed.
  internal,         ///< A fault of Lanner itself.
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

/// The throwing half of fail() and check(), compiled once.
[[noreturn]] void throw_error(ErrorCode code, fmt::string_view format, fmt::format_args args);

/// Throws Error{code, formatted message}.
template<typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(code, format, fmt::make_format_args(args...));
}

/// Throws unless `condition` holds. The arguments are evaluated always; keep them cheap.
template<typename... Args>
void check(bool condition, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_error(code, format, fmt::make_format_args(args...));
}

/// Calls `body`; an Error that leaves it, or std::bad_alloc, gets `context()` put before its message.
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
