#pragma once
// Nodes that hostile cases are made of, as the lines of seeds.txt spell them.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/op.h"

namespace lanner::hostile {

/// What a node reads. Parts are kept as text, so that they may hold what no type would.
struct Operand {
  enum class Kind { absent, input, constant };
  Kind kind = Kind::absent;
  std::string wrapper; ///< `seq` or `opt` around the type; empty: a tensor.
  std::string dtype;
  bool ranked = true;
  std::vector<std::string> dims;
  std::string values; ///< Of a constant: `(1, 2)`; `random` for random numbers.
  /// Sizes that a run gives an input, where its type leaves them open.
  std::optional<std::vector<std::int64_t>> given;

  std::string type() const;
};

struct Seed {
  std::string op;
  std::vector<Operand> operands;
  std::size_t captures = 0; ///< So many of the last operands.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string regions; ///< As they stand, braces included; empty: none.
  std::size_t outputs = 1;
  /// Pairs of operands that are one value: the second one reads what the first one reads.
  std::vector<std::pair<std::size_t, std::size_t>> shared;
  std::string behind; ///< An operator that reads the first output, so that kernels with epilogues are met.
};

/// Throws std::runtime_error that names the line.
std::vector<Seed> read_seeds(const std::filesystem::path& file);
Seed parse_seed(std::string_view line);
/// Of an operator that has no line: the operands that it needs, of types and sizes that their rules name, and
/// no attributes.
Seed seed_of(const OpDef& op);
/// The graph of this node alone, as text IR.
std::string graph_text(const Seed& seed);
/// `a, [b, c], "d, e"` in three pieces: at commas outside of brackets and quotes.
std::vector<std::string> split(std::string_view text, char separator = ',');

} // namespace lanner::hostile
