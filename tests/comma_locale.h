#pragma once
// A process whose locale writes numbers with a decimal comma.

#include <clocale>
#include <string>

#include <gtest/gtest.h>

namespace lanner::test {

/// While it lives numbers of C's functions have a decimal comma, where the locale is installed.
class CommaLocale {
public:
  CommaLocale()
      : before_(std::setlocale(LC_NUMERIC, nullptr)),
        installed_(std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr) {}
  ~CommaLocale() { std::setlocale(LC_NUMERIC, before_.c_str()); }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool installed() const { return installed_; }

private:
  const std::string before_;
  const bool installed_;
};

} // namespace lanner::test

/// Runs the rest of the test with a decimal comma, or skips it.
#define LANNER_WITH_DECIMAL_COMMA()                                                                          \
  const lanner::test::CommaLocale comma_locale;                                                              \
  if (!comma_locale.installed()) GTEST_SKIP() << "the locale de_DE.UTF-8 is not installed"
