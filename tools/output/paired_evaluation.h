#pragma once
// Two networks evaluated side by side, each of which runs once on each picture.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <lanner/evaluation.h>

namespace lanner::tool {

using Outputs = std::map<std::string, Tensor>;

struct PairedNetwork {
  Engine engine; ///< Says what inputs and outputs mean.
  std::function<Outputs(const Tensor& pictures)> run;
};

/// Gets what both networks gave for a batch, of which the first `rows` are pictures; the others repeat the
/// last one.
using CompareOutputs = std::function<void(const Outputs& first, const Outputs& second, std::int64_t rows)>;

struct PairedEvaluation {
  Evaluation first, second; ///< The worst pictures are those of the second network.
};

/// Evaluates both networks on all pictures of a data set. The functions are called by one thread at a time,
/// `first.run` by another one than the caller's. `options.run` is not used. Throws as evaluate() does.
PairedEvaluation evaluate_pair(const PairedNetwork& first, const PairedNetwork& second,
                               const CompareOutputs& compare, const Task& task, const Dataset& data,
                               const EvaluateOptions& options);

} // namespace lanner::tool
