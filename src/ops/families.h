#pragma once
// The families of operators: each family's file defines its `NAME_ops`. A new one is a declaration here and a
// line in table.cpp, which alone includes this, so that a new family leaves the others as they were compiled.

#include <vector>

#include "graph/op.h"

namespace lanner {

namespace ops {

std::vector<OpDef> activation_ops();
std::vector<OpDef> arg_max_ops();
std::vector<OpDef> arithmetic_ops();
std::vector<OpDef> batch_normalization_ops();
std::vector<OpDef> cast_ops();
std::vector<OpDef> comparison_ops();
std::vector<OpDef> concat_ops();
std::vector<OpDef> quantize_linear_ops();
std::vector<OpDef> quantized_product_ops();
std::vector<OpDef> einsum_ops();
std::vector<OpDef> det_ops();
std::vector<OpDef> cross_entropy_ops();
std::vector<OpDef> max_unpool_ops();
std::vector<OpDef> roi_pool_ops();
std::vector<OpDef> col2_im_ops();
std::vector<OpDef> depth_to_space_ops();
std::vector<OpDef> center_crop_pad_ops();
std::vector<OpDef> deform_conv_ops();
std::vector<OpDef> grid_sample_ops();
std::vector<OpDef> non_max_suppression_ops();
std::vector<OpDef> lstm_ops();
std::vector<OpDef> gru_ops();
std::vector<OpDef> rnn_ops();
std::vector<OpDef> mean_variance_normalization_ops();
std::vector<OpDef> dropout_ops();
std::vector<OpDef> dft_ops();
std::vector<OpDef> signal_window_ops();
std::vector<OpDef> attention_ops();
std::vector<OpDef> rotary_embedding_ops();
std::vector<OpDef> linear_attention_ops();
std::vector<OpDef> by_rows_ops();
std::vector<OpDef> causal_conv_with_state_ops();
std::vector<OpDef> constant_ops();
std::vector<OpDef> conv_ops();
std::vector<OpDef> conv_transpose_ops();
std::vector<OpDef> cum_sum_ops();
std::vector<OpDef> expand_ops();
std::vector<OpDef> fill_ops();
std::vector<OpDef> fused_ops();
std::vector<OpDef> gather_ops();
std::vector<OpDef> group_normalization_ops();
std::vector<OpDef> if_ops();
std::vector<OpDef> inverse_ops();
std::vector<OpDef> layer_normalization_ops();
std::vector<OpDef> logical_ops();
std::vector<OpDef> loop_ops();
std::vector<OpDef> lrn_ops();
std::vector<OpDef> matmul_ops();
std::vector<OpDef> one_hot_ops();
std::vector<OpDef> optional_ops();
std::vector<OpDef> pad_ops();
std::vector<OpDef> picture_ops();
std::vector<OpDef> pool_ops();
std::vector<OpDef> power_ops();
std::vector<OpDef> random_ops();
std::vector<OpDef> range_ops();
std::vector<OpDef> reduce_ops();
std::vector<OpDef> regex_full_match_ops();
std::vector<OpDef> reorder_ops();
std::vector<OpDef> reshape_ops();
std::vector<OpDef> resize_ops();
std::vector<OpDef> reverse_sequence_ops();
std::vector<OpDef> scan_ops();
std::vector<OpDef> scatter_ops();
std::vector<OpDef> select_ops();
std::vector<OpDef> sequence_ops();
std::vector<OpDef> sequence_tensor_ops();
std::vector<OpDef> shape_ops();
std::vector<OpDef> slice_ops();
std::vector<OpDef> softmax_ops();
std::vector<OpDef> split_ops();
std::vector<OpDef> string_ops();
std::vector<OpDef> tf_idf_vectorizer_ops();
std::vector<OpDef> top_k_ops();
std::vector<OpDef> transpose_ops();
std::vector<OpDef> tree_ensemble_ops();
std::vector<OpDef> trilu_ops();
std::vector<OpDef> unary_ops();
std::vector<OpDef> unique_ops();
std::vector<OpDef> variadic_ops();
std::vector<OpDef> where_ops();

} // namespace ops

} // namespace lanner
