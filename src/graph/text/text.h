#pragma once
// Text form of graphs, for people to read, edit and compare, and for plans. parse(print(g)) == g.
//
//   graph @resnet50(%input: f32[N, 3, 224, 224]) -> (%y: f32[N, 1000] as "output") {
//     symbol N in [1, 64] = 8
//     meta "producer" = "pytorch"
//     %w1: f32[64, 3, 7, 7] = constant() {value = file("w.safetensors", "w1")}
//     %c: i64[2] = constant() {value = i64[2](1, -1)}
//     %r: f32[8, 8] = constant() {value = random(f32[8, 8], seed = 7, std = 0.1)}
//     %1: f32[N, 64, 112, 112] @ aBcd16b = conv(%input, %w1, _) {pads = [3, 3, 3, 3], strides = [2, 2]}
//     source("conv1") %2: f32[4], %3: i64[4] = if(%cond; %c) ((%c2: i64[2]) -> (%4, %5) { ... }, (%c3:
//     i64[2]) -> (%6, %7) { ... })
//         tactic("onednn", "conv", 0a01ff, 1.25e-05)
//     %7: f32[4] = relu(%2) tactic("cuda", "elementwise", _, 0.0) stream(1)
//   }
//
// `_` is an absent input; values after `;` are captures. A constant is inline up to 16 elements, else a
// reference by name into a tensor store. Comments start with `//`, except within `[ ]`, where that divides
// dims. Names with characters other than letters, digits, `_` and `.` are quoted: `%"data:0"`. A missing type
// is inferred.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <lanner/limits.h>

#include "graph/graph.h"

namespace lanner {

/// Returns the reference text of a constant, for example `file("w.safetensors", "w1")`; empty text: the
/// constant is inline, where it is small enough.
using ConstantNamer = std::function<std::string(const Value& value, const Tensor& tensor)>;
/// Finds a tensor named by `file(file, name)`; throws Error{not_found}.
using ConstantFinder = std::function<Tensor(std::string_view file, std::string_view name)>;

struct PrintOptions {
  ConstantNamer name_constant; ///< Null: `hash("<xxh3 of the content>", type)`, which parse rejects.
  bool tactics = true;
};
std::string print(const Graph& graph, const PrintOptions& options = {});

/// Untrusted input is bounded by `limits`; errors are Error{bad_data, limit_exceeded} with `line:column`. The
/// result is verified.
std::unique_ptr<Graph> parse_graph(std::string_view text, const OpTable& ops,
                                   const ConstantFinder& find_constant = {}, const Limits& limits = {});

} // namespace lanner
