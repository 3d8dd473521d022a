#pragma once
// Nodes that hostile cases start from, in the syntax of seeds.txt.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/op.h"

namespace lanner::hostile {

/// An operand of a node. Parts are kept as text, so that they may contain anything.
struct Operand {
  enum class Kind { absent, input, constant };
  Kind kind = Kind::absent;
  std::string wrapper; ///< `seq` or `opt` around the type; empty: a tensor.
  std::string dtype;
  bool ranked = true;
  std::vector<std::string> dims;
  std::string values; ///< For a constant: `(1, 2)`; `random` for random numbers.
  /// Sizes given at run time, for an input whose type leaves them open.
  std::optional<std::vector<std::int64_t>> given;

  std::string type() const;
};

struct Seed {
  std::string op;
  std::vector<Operand> operands;
  std::size_t captures = 0; ///< The last so many operands.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string regions; ///< Verbatim, with braces; empty: none.
  std::size_t outputs = 1;
  /// Pairs of operands that are one value: the second reads the first's value.
  std::vector<std::pair<std::size_t, std::size_t>> shared;
  std::string
      behind; ///< An operator that reads the first output, so that kernels with epilogues are covered.
};

/// Throws std::runtime_error that names the line.
std::vector<Seed> read_seeds(const std::filesystem::path& file);
Seed parse_seed(std::string_view line);
/// A default seed for an operator without a line: the operands that it needs, with types and sizes by its
/// rules, and no attributes.
Seed seed_of(const OpDef& op);
/// The text IR of a graph of this node.
std::string graph_text(const Seed& seed);
/// Splits `a, [b, c], "d, e"` into three: at commas outside of brackets and quotes.
std::vector<std::string> split(std::string_view text, char separator = ',');

} // namespace lanner::hostile
