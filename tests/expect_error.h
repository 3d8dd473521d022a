#pragma once
// Expectations on lanner::Error.

#include <string>

#include <gtest/gtest.h>

#include <lanner/error.h>

/// Expects that `statement` throws a lanner::Error with this code whose one-line message contains `text`.
#define LANNER_EXPECT_ERROR(statement, expected_code, text)                                                  \
  try {                                                                                                      \
    statement;                                                                                               \
    ADD_FAILURE() << "no error from " #statement;                                                            \
  } catch (const lanner::Error& error) {                                                                     \
    EXPECT_EQ(to_string(error.code()), to_string(expected_code)) << error.message();                         \
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();                             \
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();                             \
  }                                                                                                          \
  static_assert(true)
