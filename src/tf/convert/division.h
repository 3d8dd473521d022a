#pragma once
// A TensorFlow model divided into engines and native parts.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <lanner/tensorflow.h>

#include "importers/builder.h"
#include "importers/import_graph.h"
#include "importers/importer.h"
#include "importers/tensorflow/source_library.h"
#include "importers/tensorflow/state.h"

namespace lanner::tf {

/// Nodes that run together. Values have their names in the flat graph; a part's bindings are
/// `TensorRTInputPH_i` and `TensorRTOutputPH_i`.
struct PartPlan {
  std::string name;
  bool engine = false;
  std::vector<std::uint32_t> nodes; ///< Indices into the flat graph, in topological order.
  std::vector<std::string> inputs, outputs;
  std::string precision;   ///< Of a TRTEngineOp node: `FP32`, `FP16`, `INT8`; empty: not said.
  std::string calibration; ///< Its calibration data: a table of Lanner's or a cache of TensorRT's.
};

class FlatIndex;

struct Division {
  ImportModel flat;
  NodeTrial trial;
  std::vector<ConvertedNode> nodes;
  std::vector<PartPlan> parts;                              ///< In the order in which they run.
  std::shared_ptr<const FlatIndex> index;                   ///< Of the nodes of `flat`.
  std::shared_ptr<const tensorflow::SourceLibrary> library; ///< What TensorFlow needs besides; null: nothing.
};

/// Whether a node is outside of engines, and no constant, which goes where it is read.
bool is_native(const Division& division, std::uint32_t node);

/// Nodes of control flow that a saved model has outside of engines, as TensorFlow 1 wrote it or as functions
/// that read variables by their handles. Engines have them where the model is to run without TensorFlow
/// (ConvertOptions::stand_alone).
tensorflow::NodeNames unsavable_flow(const Division& division);

/// Nodes that nothing here runs, by operator, with the reasons: `Lgamma (a, b and 3 more): a special function
/// ...`. Empty: there are none.
std::string foreign_nodes(const Division& division);

/// Divides a flat model by TF-TRT's rules. `library`: as read_flat_graph() gave it; without it a node that
/// nothing here runs is an error.
Division divide(ImportModel flat, const ConvertOptions& options, const ImportOptions& import,
                std::shared_ptr<const tensorflow::SourceLibrary> library = {});

/// Divides a model that was converted before: its engines are the calls that stand for TRTEngineOp nodes.
/// Throws Error{unsupported} for nodes that nothing here runs.
Division divide_as_saved(ImportModel flat, const ImportOptions& import,
                         std::shared_ptr<const tensorflow::SourceLibrary> library = {});

/// The type of a value of the flat graph. Throws Error{bad_data} where it has none.
const Type& type_of(const Division& division, const std::string& value);

/// The model of one part: constants that it reads are copied in.
ImportModel part_model(const Division& division, const PartPlan& part, const Limits& limits);

} // namespace lanner::tf
