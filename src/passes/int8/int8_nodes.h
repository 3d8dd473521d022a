#pragma once
// The nodes of a canonical graph that INT8 is for, and their quantised form.

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/int8/bias_correction.h"

namespace lanner::passes {

/// A convolution or product of an f32 value of the run with constant f32 weights.
struct Int8Candidate {
  std::string node;             ///< Name of its result.
  std::string input;            ///< Name of the value that it reads.
  std::int64_t weight_axis = 0; ///< Of the weights: has an index for each channel of the result.

  /// Axis of the channels of what it reads, and of its result, of so many dims: 1 of a convolution.
  std::int64_t channel_axis(std::int64_t rank) const { return weight_axis == 0 ? 1 : rank - 1; }
};

/// In the order in which they run; of the graph's body only.
std::vector<Int8Candidate> int8_candidates(const Graph& graph);
/// Whether the graph quantises by nodes of its own.
bool is_quantized(const Graph& graph);

/// How INT8 stores a value: integers from `least` to `most`, times `scale`.
struct StoredScale {
  double scale = 1;
  bool has_negative = true; ///< i8 from -127 to 127, else u8 from 0 to 255.

  static StoredScale of(double threshold, bool has_negative);
  double least() const { return has_negative ? -127 : 0; }
  double most() const { return has_negative ? 127 : 255; }
};

/// The weights, quantised symmetrically for each index of `axis` and dequantised again, before `before`. The
/// scales are computed from the weights by constants with recipes. Null where they cannot be computed.
Value* quantized_weights(Node& before, Value* weights, std::int64_t axis);

/// `value` rounded as INT8 stores it, of a scale that a run gives: a value of one f32. At the end of the
/// graph.
Value* rounded_by(Graph& graph, Value& value, Value& scale, bool has_negative);

/// Makes these candidates read their operands quantised, by quantize_linear and dequantize_linear. `scales`:
/// of each value that they read. Other elementwise readers of such a value read the quantised one too, so
/// that the value need not be stored twice. Nodes whose weights cannot be quantised stay as they are; the
/// names of the others are returned. `corrected`: nodes whose biases are corrected, by name, and the means of
/// what they read.
std::vector<std::string> quantize_nodes(Graph& graph, const std::vector<Int8Candidate>& chosen,
                                        const std::map<std::string, StoredScale>& scales,
                                        const std::map<std::string, InputMeans>& corrected = {});

} // namespace lanner::passes
