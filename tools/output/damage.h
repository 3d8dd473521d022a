#pragma once
// Errors of damaged clips.

#include <string_view>

#include <lanner/error.h>

namespace lanner::tool {

/// Calls `body`, which decodes. An error caused by damage names --conceal, unless that was given.
template<typename Body>
decltype(auto) or_conceal(bool conceal, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    const bool nothing =
        std::string_view(error.message()).find("no picture of stream") != std::string_view::npos;
    if (conceal || nothing || error.code() != ErrorCode::bad_data) throw;
    throw Error(error.code(), error.message() + "; --conceal goes on with what can be decoded");
  }
}

} // namespace lanner::tool
