#pragma once
// Families of one primitive with one data input and one output.

#include <optional>

#include "backends/onednn/execution.h"
#include "backends/onednn/families.h"

namespace lanner::onednn {

/// A primitive for chosen layouts of its data input (input 0 of the node) and its output.
struct Primitive {
  Descriptor descriptor;
  std::vector<Argument> arguments; ///< Including the output's, DNNL_ARG_DST or other.
};

/// Definition of a family.
struct SinglePrimitive {
  std::string_view kernel;
  /// Whether the group is of this family. `reason` says why a similar group is not supported.
  bool (*takes)(const Group& group, std::string& reason);
  /// Empty descriptor when oneDNN has none.
  Primitive (*make)(const Group& group, const Layout& input, const Layout& output);
  /// Row-major only: the primitive works along one axis of data of any rank.
  bool any_rank = false;
  /// The backend whose kernel runs where oneDNN's may have returned a number for a NaN: its kernel of the
  /// same name, or the reference. Null: oneDNN's kernel hides none.
  const Backend* (*keeper)(const GroupOp& op) = nullptr;
  /// What the primitive stores data of f32 in: f32 or bf16.
  DType type = DType::f32;
};

TacticList single_tactics(const SinglePrimitive& single, const Node& node, const Group& group,
                          const Target& target);
std::unique_ptr<Kernel> single_prepare(const SinglePrimitive& single, const Preparation& preparation);

} // namespace lanner::onednn
