#pragma once
// Graphs of ONNX's operators to ONNX files.

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace lanner::onnx {

/// ONNX's TensorProto.DataType of an element type: the reverse of dtype_of_onnx().
std::int64_t onnx_of_dtype(DType type);

/// The bytes of a model that computes what the graph's definitions do: constants as initialisers, inputs and
/// outputs by the graph's names, the lowest operator set that has the operators and attributes, but at least
/// 21. `description` becomes the doc_string. Throws Error{unsupported} that names what ONNX cannot express:
/// an operator of another domain or of lowering, a node with regions, a sequence.
std::string write_onnx(const Graph& graph, std::string_view description = {});

} // namespace lanner::onnx
