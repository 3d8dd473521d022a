#include <lanner/error.h>
#include <lanner/message.h>

namespace lanner {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
  case ErrorCode::invalid_argument:
    return "invalid_argument";
  case ErrorCode::not_found:
    return "not_found";
  case ErrorCode::bad_data:
    return "bad_data";
  case ErrorCode::limit_exceeded:
    return "limit_exceeded";
  case ErrorCode::unsupported:
    return "unsupported";
  case ErrorCode::out_of_memory:
    return "out_of_memory";
  case ErrorCode::io:
    return "io";
  case ErrorCode::cancelled:
    return "cancelled";
  case ErrorCode::device:
    return "device";
  case ErrorCode::internal:
    return "internal";
  }
  return "internal";
}

Error Error::within(std::string_view context) const {
  return Error(code_, message_line(fmt::format("{}: {}", context, message_)));
}

void errors::throw_error(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, message_line(fmt::vformat(format, args))); // It may hold names from untrusted files.
}

} // namespace lanner
