#pragma once

#include <filesystem>

namespace lanner::test {

/// The checkout that the tests were built from, for files that they read.
std::filesystem::path source_dir();

/// Real models and clips beside the checkout; tests that need them skip, with a reason, when they are absent.
std::filesystem::path shared_data_dir();

} // namespace lanner::test
