#include "options/limit_option.h"

#include <string>

#include <lanner/error.h>

#include "options/option_rows.h"

namespace lanner::tool {
namespace {

Limits& limits() {
  static Limits given;
  return given;
}

/// Sets one limit; returns what is wrong with the text, or nothing.
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
  const OptionInfo& info = find_option(build_option_table(), "limits")->info;
  command.add_option(std::string(info.flag), help_of(info, "") + "; may be given several times")
      .one_value()
      .check(take_limit);
}

const Limits& given_limits() {
  return limits();
}

} // namespace lanner::tool
