// Versions, statuses and errors of the C interface.

#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include <lanner/version.h>

#include "boundary.h"
#include "check.h"

struct lanner_error {
  lanner_status status;
  const char* fixed; // Instead of `message` where no memory may be allocated.
  std::optional<std::string> message;
};

namespace lanner::c {
namespace {

constinit lanner_error no_memory{LANNER_OUT_OF_MEMORY, "memory was refused by the system", std::nullopt};

constexpr lanner_status status_of(ErrorCode code) {
  return static_cast<lanner_status>(code) + 1;
}
static_assert(status_of(ErrorCode::invalid_argument) == LANNER_INVALID_ARGUMENT);
static_assert(status_of(ErrorCode::not_found) == LANNER_NOT_FOUND);
static_assert(status_of(ErrorCode::bad_data) == LANNER_BAD_DATA);
static_assert(status_of(ErrorCode::limit_exceeded) == LANNER_LIMIT_EXCEEDED);
static_assert(status_of(ErrorCode::unsupported) == LANNER_UNSUPPORTED);
static_assert(status_of(ErrorCode::out_of_memory) == LANNER_OUT_OF_MEMORY);
static_assert(status_of(ErrorCode::io) == LANNER_IO);
static_assert(status_of(ErrorCode::cancelled) == LANNER_CANCELLED);
static_assert(status_of(ErrorCode::device) == LANNER_DEVICE);
static_assert(status_of(ErrorCode::internal) == LANNER_INTERNAL);

lanner_status report(lanner_error** error, lanner_status status, const char* message) noexcept {
  if (!error) return status;
  try {
    *error = new lanner_error{status, nullptr, message};
  } catch (...) {
    *error = &no_memory;
    return no_memory.status;
  }
  return status;
}

} // namespace

lanner_status report_exception(lanner_error** error) noexcept {
  try {
    throw;
  } catch (const Error& failure) {
    return report(error, status_of(failure.code()), failure.what());
  } catch (const std::bad_alloc&) {
    if (error) *error = &no_memory;
    return no_memory.status;
  } catch (const std::exception& failure) {
    return report(error, LANNER_INTERNAL, failure.what());
  } catch (...) {
    return report(error, LANNER_INTERNAL, "an exception of an unknown type");
  }
}

void check_struct_size(std::size_t size, std::size_t alignment) {
  // Sizes of structures are multiples of their alignment, so no member is ever cut in two.
  constexpr std::size_t most = 4096;
  check(size >= sizeof(size) && size <= most && size % alignment == 0, ErrorCode::invalid_argument,
        "struct_size is {}: set it to the size of the structure, and zero its other members", size);
}

void read_struct(const void* given, void* known, std::size_t known_size, std::size_t alignment) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  check_struct_size(size, alignment);
  const auto* bytes = static_cast<const unsigned char*>(given);
  if (size > known_size)
    check(std::all_of(bytes + known_size, bytes + size, [](unsigned char byte) { return byte == 0; }),
          ErrorCode::unsupported,
          "options of {} bytes set a member that this library, version {}, does not know: it knows {} bytes; "
          "zero the "
          "others or update the library",
          size, version(), known_size);
  std::memcpy(known, given, std::min(size, known_size));
}

} // namespace lanner::c

uint32_t lanner_c_abi_version(void) noexcept {
  return LANNER_C_ABI_VERSION;
}

const char* lanner_version(void) noexcept {
  return lanner::version().data();
}

const char* lanner_status_name(lanner_status status) noexcept {
  if (status == LANNER_OK) return "ok";
  if (status < LANNER_OK || status > LANNER_INTERNAL) return "unknown";
  return lanner::to_string(static_cast<lanner::ErrorCode>(status - 1)).data();
}

lanner_status lanner_error_status(const lanner_error* error) noexcept {
  return error ? error->status : LANNER_OK;
}

const char* lanner_error_message(const lanner_error* error) noexcept {
  if (!error) return "";
  return error->message ? error->message->c_str() : error->fixed;
}

void lanner_error_destroy(lanner_error* error) noexcept {
  if (error != &lanner::c::no_memory) delete error;
}
