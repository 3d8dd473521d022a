#include "ops/table.h"

#include "ops/families.h"

namespace lanner {

OpTable builtin_ops() {
  OpTable table;
  table.add(ops::activation_ops());
  table.add(ops::arg_max_ops());
  table.add(ops::arithmetic_ops());
  table.add(ops::batch_normalization_ops());
  table.add(ops::cast_ops());
  table.add(ops::comparison_ops());
  table.add(ops::concat_ops());
  table.add(ops::quantize_linear_ops());
  table.add(ops::quantized_product_ops());
  table.add(ops::einsum_ops());
  table.add(ops::det_ops());
  table.add(ops::inverse_ops());
  table.add(ops::cross_entropy_ops());
  table.add(ops::max_unpool_ops());
  table.add(ops::roi_pool_ops());
  table.add(ops::col2_im_ops());
  table.add(ops::depth_to_space_ops());
  table.add(ops::center_crop_pad_ops());
  table.add(ops::deform_conv_ops());
  table.add(ops::grid_sample_ops());
  table.add(ops::non_max_suppression_ops());
  table.add(ops::lstm_ops());
  table.add(ops::gru_ops());
  table.add(ops::rnn_ops());
  table.add(ops::mean_variance_normalization_ops());
  table.add(ops::dropout_ops());
  table.add(ops::dft_ops());
  table.add(ops::signal_window_ops());
  table.add(ops::attention_ops());
  table.add(ops::rotary_embedding_ops());
  table.add(ops::linear_attention_ops());
  table.add(ops::by_rows_ops());
  table.add(ops::causal_conv_with_state_ops());
  table.add(ops::constant_ops());
  table.add(ops::conv_ops());
  table.add(ops::conv_transpose_ops());
  table.add(ops::cum_sum_ops());
  table.add(ops::expand_ops());
  table.add(ops::fill_ops());
  table.add(ops::fused_ops());
  table.add(ops::gather_ops());
  table.add(ops::group_normalization_ops());
  table.add(ops::if_ops());
  table.add(ops::layer_normalization_ops());
  table.add(ops::logical_ops());
  table.add(ops::loop_ops());
  table.add(ops::lrn_ops());
  table.add(ops::matmul_ops());
  table.add(ops::one_hot_ops());
  table.add(ops::optional_ops());
  table.add(ops::pad_ops());
  table.add(ops::picture_ops());
  table.add(ops::pool_ops());
  table.add(ops::power_ops());
  table.add(ops::random_ops());
  table.add(ops::range_ops());
  table.add(ops::reduce_ops());
  table.add(ops::regex_full_match_ops());
  table.add(ops::reorder_ops());
  table.add(ops::reshape_ops());
  table.add(ops::resize_ops());
  table.add(ops::reverse_sequence_ops());
  table.add(ops::scan_ops());
  table.add(ops::scatter_ops());
  table.add(ops::select_ops());
  table.add(ops::sequence_ops());
  table.add(ops::sequence_tensor_ops());
  table.add(ops::shape_ops());
  table.add(ops::slice_ops());
  table.add(ops::softmax_ops());
  table.add(ops::split_ops());
  table.add(ops::string_ops());
  table.add(ops::tf_idf_vectorizer_ops());
  table.add(ops::top_k_ops());
  table.add(ops::transpose_ops());
  table.add(ops::tree_ensemble_ops());
  table.add(ops::trilu_ops());
  table.add(ops::unary_ops());
  table.add(ops::unique_ops());
  table.add(ops::variadic_ops());
  table.add(ops::where_ops());
  return table;
}

const OpTable& builtin_op_table() {
  static const OpTable table = builtin_ops();
  return table;
}

} // namespace lanner
