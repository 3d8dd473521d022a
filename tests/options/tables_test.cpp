// Each row of each table has all that the interfaces need.

#include <cctype>
#include <set>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "options/tables.h"

namespace lanner::test {
namespace {

/// A clause: in lower case where it begins with a word, without a full stop, on one line.
void expect_clause(std::string_view text) {
  ASSERT_FALSE(text.empty());
  const bool name = text.size() > 1 && std::isupper(static_cast<unsigned char>(text[1])) != 0; // GPU, ONNX
  EXPECT_TRUE(name || std::isupper(static_cast<unsigned char>(text[0])) == 0) << text;
  EXPECT_NE(text.back(), '.') << text;
  EXPECT_EQ(text.find('\n'), std::string_view::npos) << text;
}

template<typename Options>
Options options_of(const OptionRow<Options>&) {
  return {};
}

} // namespace

TEST(OptionTables, EachRowHasAHelpText) {
  for_each_table([](const char* title, const auto& table) {
    ASSERT_FALSE(table.empty());
    for (const auto& row : table) {
      SCOPED_TRACE(std::string(title) + " " + std::string(row.info.name));
      expect_clause(row.info.help);
      if (!row.info.details.empty()) expect_clause(row.info.details);
      if (!row.info.unset.empty()) expect_clause(row.info.unset);
    }
  });
}

TEST(OptionTables, EachInterfaceHasTheOptionOrAReasonWhyNot) {
  for_each_table([](const char* title, const auto& table) {
    for (const auto& row : table) {
      SCOPED_TRACE(std::string(title) + " " + std::string(row.info.name));
      EXPECT_NE(row.info.flag.empty(), row.info.no_flag.empty());
      EXPECT_NE(row.field.name.empty(), row.info.no_field.empty());
      EXPECT_EQ(row.field.name.empty(), !row.field.read);
      if (!row.info.flag.empty()) EXPECT_TRUE(row.info.flag.starts_with("--"));
    }
  });
}

TEST(OptionTables, NamesFlagsAndFieldsAreUnique) {
  for_each_table([](const char* title, const auto& table) {
    std::set<std::string_view> names, flags, fields;
    for (const auto& row : table) {
      SCOPED_TRACE(std::string(title) + " " + std::string(row.info.name));
      EXPECT_TRUE(names.insert(row.info.name).second);
      if (!row.info.flag.empty()) EXPECT_TRUE(flags.insert(row.info.flag).second);
      EXPECT_TRUE(row.info.other_flag.empty() || flags.insert(row.info.other_flag).second);
      if (!row.field.name.empty()) EXPECT_TRUE(fields.insert(row.field.name).second);
    }
  });
}

TEST(OptionTables, OptionSetByTextReadsBackAsTheSameText) {
  for_each_table([](const char* title, const auto& table) {
    for (const auto& row : table) {
      if (!has_text(row.info)) continue;
      SCOPED_TRACE(std::string(title) + " " + std::string(row.info.name));
      const auto standard = options_of(row);
      auto options = standard, again = standard;
      row.set(options, parse_option(row.info, sample_of(row.info)));
      const std::string text = option_text(row.get(options));
      if (row.info.kind != OptionKind::flag) {
        row.set(again, parse_option(row.info, text));
        EXPECT_EQ(options_text(table, again), options_text(table, options));
      }
      // These flags restore the library's default, which the command changes.
      const std::set<std::string_view> defaults{"rotate", "cache_index", "raise_on_error"};
      EXPECT_EQ(text == option_text(row.get(standard)), defaults.contains(row.info.name)) << text;
    }
  });
}

TEST(OptionTables, SettingAReadValueChangesNothingElse) {
  for_each_table([](const char* title, const auto& table) {
    for (const auto& row : table) {
      if (!has_text(row.info)) continue;
      SCOPED_TRACE(std::string(title) + " " + std::string(row.info.name));
      auto set = options_of(row), copied = set;
      row.set(set, parse_option(row.info, sample_of(row.info)));
      row.set(copied, row.get(set));
      EXPECT_EQ(options_text(table, copied), options_text(table, set));
    }
  });
}

TEST(OptionTables, MalformedTextIsRejectedNamingWhatWasExpected) {
  const auto refused = [](std::string_view name, const std::string& text) {
    const auto& row = *find_option(build_option_table(), name);
    try {
      BuildOptions options;
      row.set(options, parse_option(row.info, text));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return std::string(error.message());
    }
    return std::string("taken");
  };
  EXPECT_EQ(refused("pins", "conv"), "--pin 'conv': expected NODE=TYPE like '/head/*=fp32'");
  EXPECT_EQ(refused("pins", "=fp32"), "--pin '=fp32': expected NODE=TYPE like '/head/*=fp32'");
  EXPECT_EQ(refused("states", "past="), "--state 'past=': expected INPUT=OUTPUT like 'past=present'");
  EXPECT_EQ(refused("threads", "two"), "expected a whole number from 0 to 4096, got 'two'");
  EXPECT_EQ(refused("threads", "4097"), "expected a whole number from 0 to 4096, got '4097'");
  EXPECT_EQ(refused("budget", "soon"), "duration 'soon': expected a time like 10s, 500ms or 1.5");
  EXPECT_EQ(refused("weight_budget", "1.5GiB"),
            "'1.5GiB' is no size; expected a whole number of bytes, or one with a unit, like 512MiB");
  EXPECT_EQ(refused("weight_budget", "99999999999GiB").substr(0, 24), "'99999999999GiB' is no s");
  EXPECT_EQ(refused("shapes", "x").substr(0, 31), "shape 'x': expected NAME:SIZES ");
  EXPECT_EQ(refused("profiles", "x=").substr(0, 38), "profile 'x=': expected INPUT=MIN:OPT:M");
  EXPECT_EQ(refused("metadata", "author="), "taken");
}

TEST(OptionTables, DuplicateNameIsRejected) {
  for (const std::string_view name : {"shapes", "storages", "metadata"}) {
    const auto& row = *find_option(build_option_table(), name);
    BuildOptions options;
    const OptionValue value = parse_option(row.info, std::string(row.info.example));
    row.set(options, value);
    LANNER_EXPECT_ERROR(row.set(options, value), ErrorCode::invalid_argument, "comes twice");
  }
}

TEST(OptionTables, PinsKeepTheirOrder) {
  const auto& row = *find_option(build_option_table(), "pins");
  BuildOptions options;
  row.set(options, NamedTexts{{"z*", "fp16"}, {"a*", "fp32"}});
  ASSERT_EQ(options.precision.pins.size(), 2u);
  EXPECT_EQ(options.precision.pins[0].pattern, "z*");
}

TEST(OptionTexts, SizesAcceptDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("12 kb"), 12'000u);
  EXPECT_EQ(parse_bytes("3KiB"), 3'072u);
  EXPECT_EQ(parse_bytes("2G"), 2'000'000'000u);
  EXPECT_EQ(parse_bytes("1ti"), 1ull << 40);
  for (const char* wrong : {"", "x", "-1", "1.5", "5GiBs", "16EiB"})
    LANNER_EXPECT_ERROR(parse_bytes(wrong), ErrorCode::invalid_argument, "is no size");
}

} // namespace lanner::test
