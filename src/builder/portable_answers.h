#pragma once
// Reference results of a network by its portable graph's definitions, and comparison with its kernels'
// results.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/item.h>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// How far an answer may differ from the portable graph's.
struct AnswerBounds {
  double norm = 0;    ///< For reals: distance relative to the norm.
  double element = 0; ///< For reals: distance of one element relative to it and to the root mean square.
  double share = 0;   ///< For integers, strings and bools: share of elements that may differ.
};
/// Bounds far beyond the rounding errors of a correct network. `graph` is portable.
AnswerBounds answer_bounds(const Graph& graph, const Target& target);

/// Empty, or how `got` differs from `want` by more than `bounds`, in one line. Elements whose expected value
/// is not finite are not compared.
std::string answer_difference(const Item& got, const Item& want, const AnswerBounds& bounds);

/// Not thread-safe.
class PortableAnswers {
public:
  /// Runs `graph`, portable and of concrete input shapes, by its definitions; `inputs` are its inputs, on the
  /// host. Throws a definition's failure and Error{cancelled}.
  PortableAnswers(std::unique_ptr<const Graph> graph, std::vector<Item> inputs, const Target& target,
                  const Control& control);

  std::size_t size() const noexcept { return answers_.size(); }
  /// Empty, or how `got` differs from this output. Not compared are outputs of random numbers without a seed,
  /// and differences no larger than those caused by noise in the last digits of the inputs.
  std::string difference(std::size_t output, const Item& got);
  /// Whether difference() could not decide on this output.
  bool undecided(std::size_t output) const { return undecided_[output]; }

private:
  std::vector<Item> run(bool disturbed, std::uint64_t seed) const;
  bool is_steady(std::size_t output);

  std::unique_ptr<const Graph> graph_;
  std::vector<Item> inputs_;
  const Target target_;
  const Control control_;
  AnswerBounds bounds_;
  std::vector<Item> answers_;
  std::vector<bool> undecided_;
  std::optional<std::vector<std::vector<Item>>> disturbed_; ///< Answers to disturbed inputs.
};

} // namespace lanner
