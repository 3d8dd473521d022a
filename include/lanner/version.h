#pragma once
// The library's version.

#include <string_view>

namespace lanner {

/// `major.minor.patch` of the library that is loaded.
std::string_view version() noexcept;

} // namespace lanner
