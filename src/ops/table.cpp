#include "ops/table.h"

namespace lanner {

OpTable builtin_ops() {
  OpTable table;
  table.add(ops::arg_max_ops());
  table.add(ops::batch_normalization_ops());
  table.add(ops::conv_ops());
  table.add(ops::conv_transpose_ops());
  table.add(ops::cum_sum_ops());
  table.add(ops::group_normalization_ops());
  table.add(ops::layer_normalization_ops());
  table.add(ops::lrn_ops());
  table.add(ops::matmul_ops());
  table.add(ops::pool_ops());
  table.add(ops::reduce_ops());
  table.add(ops::resize_ops());
  table.add(ops::softmax_ops());
  table.add(ops::top_k_ops());
  table.add(ops::quantize_linear_ops());
  table.add(ops::quantized_product_ops());
  table.add(ops::einsum_ops());
  table.add(ops::det_ops());
  table.add(ops::cross_entropy_ops());
  table.add(ops::constant_ops());
  table.add(ops::fused_ops());
  table.add(ops::reorder_ops());
  return table;
}

const OpTable& builtin_op_table() {
  static const OpTable table = builtin_ops();
  return table;
}

} // namespace lanner
