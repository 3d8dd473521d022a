#include "ops/strings/regex.h"

#include <gtest/gtest.h>

#include "expect_error.h"

using namespace lanner;
using ops::Regex;

static bool matches(std::string_view pattern, std::string_view text) {
  return Regex(pattern).full_match(text);
}

TEST(Regex, matches_the_whole_text) {
  EXPECT_TRUE(matches("a*b", "aaab"));
  EXPECT_FALSE(matches("a*b", "aaabc"));
  EXPECT_FALSE(matches("b", "ab"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches("a|bc|", ""));
  EXPECT_TRUE(matches("(?:ab?){2}c+?", "aabccc"));
  EXPECT_FALSE(matches("(?:ab?){2}c", "abc"));
  EXPECT_TRUE(matches("x{2,3}", "xxx"));
  EXPECT_FALSE(matches("x{2,3}", "xxxx"));
  EXPECT_TRUE(matches("x{,3}", "x{,3}"));
}

TEST(Regex, matches_classes_and_anchors) {
  EXPECT_TRUE(matches(R"(www\.[\w.-]+\.\bcom\b)", "www.my-site.com"));
  EXPECT_FALSE(matches(R"(www\.[\w.-]+\.\bcom\b)", "www.my-site.comx"));
  EXPECT_TRUE(matches(R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))", "first.last@gmail.com"));
  EXPECT_FALSE(matches(R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))", "first.last@hotmail.com"));
  EXPECT_TRUE(matches("[^a-c]", "d"));
  EXPECT_TRUE(matches("[]x]", "]"));
  EXPECT_TRUE(matches(R"([\D])", "x"));
  EXPECT_TRUE(matches("[[:^digit:]]", "x"));
  EXPECT_TRUE(matches("[[:alpha:]-]+", "a-b"));
  EXPECT_FALSE(matches(".", "\n"));
  EXPECT_TRUE(matches("(?s).", "\n"));
  EXPECT_TRUE(matches("(?i:ab)c", "ABc"));
  EXPECT_FALSE(matches("(?i:ab)c", "ABC"));
  EXPECT_TRUE(matches(R"(\x41\x{1F600})", "A\xF0\x9F\x98\x80"));
}

TEST(Regex, counts_code_points) {
  EXPECT_TRUE(matches("..", "äß"));
  EXPECT_TRUE(matches("[à-ü]", "ä"));
  EXPECT_TRUE(matches("a.b", "a\xff"
                             "b"));
}

TEST(Regex, ignores_case_of_letters_beyond_ascii) {
  EXPECT_TRUE(matches("(?i)straße Ä", "STRAßE ä"));
  EXPECT_TRUE(matches("(?i)k[а-я]", "\xE2\x84\xAA" // The Kelvin sign.
                                    "Я"));
  EXPECT_FALSE(matches("(?i)[^ä]", "Ä"));
  EXPECT_FALSE(matches(R"((?i)[\W-])", "k"));
}

TEST(Regex, begins_and_ends_lines_in_multiline_mode) {
  EXPECT_TRUE(matches("(?m)a$\n^b$", "a\nb"));
  EXPECT_FALSE(matches("a$\n^b$", "a\nb"));
  EXPECT_FALSE(matches("(?m)a^b", "ab"));
}

TEST(Regex, quotes_literals) {
  EXPECT_TRUE(matches(R"(\Qa.b*\Ec)", "a.b*c"));
  EXPECT_FALSE(matches(R"(\Qa.b*\Ec)", "axbbc"));
  EXPECT_TRUE(matches(R"(\Qab\E+)", "abbb"));
  EXPECT_TRUE(matches(R"(\Q\Ea\Q)", "a"));
  EXPECT_TRUE(matches(R"(\Qa\)", "a\\"));
}

TEST(Regex, takes_octal_codes) {
  EXPECT_TRUE(matches(R"(\101\60\012)", "A0\n"));
  EXPECT_TRUE(matches(R"([\101-\103])", "B"));
  LANNER_EXPECT_ERROR(Regex(R"((a)\1)"), ErrorCode::invalid_argument, "reference to a group");
}

TEST(Regex, takes_linear_time) {
  std::string text(2000, 'a');
  EXPECT_FALSE(matches("(a*)*b", text));
  EXPECT_FALSE(matches("(a|aa)+b", text));
}

TEST(Regex, refuses_invalid_and_unsupported_patterns) {
  LANNER_EXPECT_ERROR(Regex("(a"), ErrorCode::invalid_argument, "unmatched (");
  LANNER_EXPECT_ERROR(Regex("a)"), ErrorCode::invalid_argument, "unmatched )");
  LANNER_EXPECT_ERROR(Regex("*a"), ErrorCode::invalid_argument, "nothing to repeat");
  LANNER_EXPECT_ERROR(Regex("a(?m){2}"), ErrorCode::invalid_argument, "nothing to repeat");
  LANNER_EXPECT_ERROR(Regex("\\pL"), ErrorCode::invalid_argument, "an unsupported escape");
  LANNER_EXPECT_ERROR(Regex("[a"), ErrorCode::invalid_argument, "ends early");
  LANNER_EXPECT_ERROR(Regex("[z-a]"), ErrorCode::invalid_argument, "reversed range");
  LANNER_EXPECT_ERROR(Regex("\\"), ErrorCode::invalid_argument, "ends early");
  LANNER_EXPECT_ERROR(Regex("a{1001}"), ErrorCode::invalid_argument, "repetition count");
  LANNER_EXPECT_ERROR(Regex("((a{1000}){1000}){1000}"), ErrorCode::limit_exceeded, "states");
  LANNER_EXPECT_ERROR(Regex(std::string(5000, '(')), ErrorCode::invalid_argument, "nested too deep");
}
