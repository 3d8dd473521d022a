#pragma once
// What a network gives by the definitions of its portable graph, and how answers of its kernels differ.

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

/// How far an answer may lie from the portable graph's.
struct AnswerBounds {
  double norm = 0;    ///< Of reals: the distance, as a share of the norm.
  double element = 0; ///< Of reals: of one element, as a share of it and of the root mean square.
  double share = 0;   ///< Of numbers that are no reals, words and truths: of the elements may differ.
};
/// Far beyond what rounding makes of a network that is right. `graph` is portable.
AnswerBounds answer_bounds(const Graph& graph, const Target& target);

/// Empty, or how `got` differs from `want` by more than `bounds`, in one line. Elements that are expected to
/// be no finite numbers are not compared.
std::string answer_difference(const Item& got, const Item& want, const AnswerBounds& bounds);

/// Not thread-safe.
class PortableAnswers {
public:
  /// Runs `graph`, portable and of concrete input shapes, by its definitions; `inputs` are its inputs, on the
  /// host. Throws a definition's failure and Error{cancelled}.
  PortableAnswers(std::unique_ptr<const Graph> graph, std::vector<Item> inputs, const Target& target,
                  const Control& control);

  std::size_t size() const noexcept { return answers_.size(); }
  /// Empty, or how `got` differs from this output, where that says something: outputs of random numbers
  /// without a seed are not compared, nor is what inputs that differ in their last digits make different by
  /// as much.
  std::string difference(std::size_t output, const Item& got);
  /// Whether difference() found that it says nothing.
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
  std::optional<std::vector<std::vector<Item>>> disturbed_; ///< Answers to inputs that differ a little.
};

} // namespace lanner
