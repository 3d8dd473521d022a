#include "base/system_error.h"

#include <cerrno>
#include <system_error>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

ErrorCode code_of(int error) {
  if (error == ENOENT || error == ENOTDIR) return ErrorCode::not_found;
  return error == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::io;
}

std::string_view remedy_of(int error) {
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return "; check the path";
  case EACCES:
  case EPERM:
    return "; check the permissions of the file and its folder";
  case EROFS:
    return "; choose another folder";
  case ENOSPC:
  case EDQUOT:
    return "; free some space or choose another folder";
  case EMFILE:
  case ENFILE:
    return "; close some files or raise the limit on open files";
  default:
    return "";
  }
}

} // namespace

std::string system_message(int error) {
  return std::generic_category().message(error);
}

void fail_system(int error, std::string_view what) {
  fail(code_of(error), "{}: {}{}", what, system_message(error), remedy_of(error));
}

} // namespace lanner
