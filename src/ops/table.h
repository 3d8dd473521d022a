#pragma once
// The operators that Lanner brings, family by family. Each family's file defines its `NAME_ops`; a new family is one
// declaration here and one line in table.cpp.

#include <vector>

#include "graph/op.h"

namespace lanner {

/// A table with every built-in operator, for a caller to add to.
OpTable builtin_ops();
/// The built-in operators, built once.
const OpTable& builtin_op_table();

namespace ops {

std::vector<OpDef> arg_max_ops();
std::vector<OpDef> batch_normalization_ops();
std::vector<OpDef> conv_ops();
std::vector<OpDef> conv_transpose_ops();
std::vector<OpDef> cum_sum_ops();
std::vector<OpDef> group_normalization_ops();
std::vector<OpDef> layer_normalization_ops();
std::vector<OpDef> lrn_ops();
std::vector<OpDef> matmul_ops();
std::vector<OpDef> pool_ops();
std::vector<OpDef> reduce_ops();
std::vector<OpDef> resize_ops();
std::vector<OpDef> softmax_ops();
std::vector<OpDef> top_k_ops();
std::vector<OpDef> quantize_linear_ops();
std::vector<OpDef> quantized_product_ops();
std::vector<OpDef> einsum_ops();
std::vector<OpDef> det_ops();
std::vector<OpDef> cross_entropy_ops();
std::vector<OpDef> constant_ops();
std::vector<OpDef> fused_ops();
std::vector<OpDef> reorder_ops();

} // namespace ops
} // namespace lanner
