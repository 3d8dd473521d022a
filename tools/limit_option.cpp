#include "limit_option.h"

#include <string>

#include <lanner/error.h>

namespace lanner::tool {
namespace {

Limits& limits() {
  static Limits given;
  return given;
}

/// What is wrong with one; nothing where it is right.
std::string take_limit(const std::string& text) {
  try {
    set_limit(limits(), text);
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

} // namespace

void add_limit_option(Command& command) {
  command
      .add_option("--limit", "NAME=VALUE: bound on what a file may make the command use: total_bytes=4GiB, "
                             "seconds=60, pixels, rank ...; see docs/limits.md")
      .one_value()
      .check(take_limit);
}

const Limits& given_limits() {
  return limits();
}

} // namespace lanner::tool
