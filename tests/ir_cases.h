#pragma once
// Cases of tests in .ir files, and what is done with their graphs.
//
// A file is a list of cases
//
//   // case TITLE
//   // SECTION WORDS
//   text, as a rule a graph
//
// of which each test says what sections there are. A section's head has one blank behind `//`; comments
// within a section are written with more.

#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner::test {

struct IrSection {
  std::string name, words; ///< `before`; what stands behind that on its line.
  std::string text;        ///< Without blank lines at its end.
};

struct IrCase {
  std::string file, title; ///< The file's name without `.ir`.
  std::vector<IrSection> sections;

  const IrSection* find(std::string_view name) const;   ///< The first so named, or null.
  const std::string& text(std::string_view name) const; ///< Of one that has to be there.
  std::vector<const IrSection*> all(std::string_view name) const;
};

/// The cases of every .ir file in `folder`, a path in the checkout, by file and in their order. `sections`
/// are the names that there may be. Throws Error{bad_data} for text outside of a section.
std::vector<IrCase> ir_cases(const std::filesystem::path& folder, std::span<const std::string_view> sections);
/// `file_title` in letters that GoogleTest takes.
std::string ir_case_name(const testing::TestParamInfo<IrCase>& info);

/// A tensor for each input, of numbers from -2 to 2; an open dim has its opt size, else at least 2.
std::vector<Item> random_inputs(const Graph& graph, std::uint32_t seed = 1);
/// Types and shapes are the same, elements too but for `tolerance` of 1 + their magnitude.
void expect_equal(const Item& a, const Item& b, double tolerance);

void PrintTo(const IrCase& one, std::ostream* out);

} // namespace lanner::test
