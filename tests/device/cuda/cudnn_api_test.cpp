// Compares our declarations of cuDNN with its own headers, where they are available.

#if __has_include(<cudnn_graph.h>) && __has_include(<cuda_runtime_api.h>)
#include <cudnn_graph.h>

#include <type_traits>

#include "device/cuda/cudnn_api.h"

namespace lanner::cudnn {
namespace {

template<typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs) && sizeof(Ours) == sizeof(Theirs);
}

static_assert(same(success, CUDNN_STATUS_SUCCESS));
static_assert(same(not_supported_first, CUDNN_STATUS_NOT_SUPPORTED));
static_assert(CUDNN_STATUS_INTERNAL_ERROR == not_supported_last + 1);
static_assert(same(host_allocation_failed, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED));
static_assert(same(device_allocation_failed, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED));

using D = DescriptorType;
static_assert(same(D::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(same(D::convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
static_assert(same(D::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(same(D::engine_config, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
static_assert(same(D::engine_heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
static_assert(same(D::execution_plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(same(D::knob_choice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
static_assert(same(D::operation_convolution_forward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
static_assert(same(D::operation_pointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
static_assert(same(D::operation_graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(same(D::variant_pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(same(D::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));

using A = Attribute;
static_assert(same(A::pointwise_mode, CUDNN_ATTR_POINTWISE_MODE));
static_assert(same(A::pointwise_math_precision, CUDNN_ATTR_POINTWISE_MATH_PREC));
static_assert(same(A::pointwise_nan_propagation, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION));
static_assert(same(A::pointwise_relu_lower_clip, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP));
static_assert(same(A::pointwise_relu_upper_clip, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP));
static_assert(same(A::pointwise_relu_lower_clip_slope, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE));
static_assert(same(A::pointwise_elu_alpha, CUDNN_ATTR_POINTWISE_ELU_ALPHA));
static_assert(same(A::pointwise_softplus_beta, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA));
static_assert(same(A::pointwise_swish_beta, CUDNN_ATTR_POINTWISE_SWISH_BETA));
static_assert(same(A::convolution_compute_type, CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
static_assert(same(A::convolution_mode, CUDNN_ATTR_CONVOLUTION_CONV_MODE));
static_assert(same(A::convolution_dilations, CUDNN_ATTR_CONVOLUTION_DILATIONS));
static_assert(same(A::convolution_strides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
static_assert(same(A::convolution_post_paddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS));
static_assert(same(A::convolution_pre_paddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
static_assert(same(A::convolution_spatial_dims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
static_assert(same(A::heuristics_mode, CUDNN_ATTR_ENGINEHEUR_MODE));
static_assert(same(A::heuristics_operation_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
static_assert(same(A::heuristics_results, CUDNN_ATTR_ENGINEHEUR_RESULTS));
static_assert(same(A::engine_config_engine, CUDNN_ATTR_ENGINECFG_ENGINE));
static_assert(same(A::engine_config_knob_choices, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES));
static_assert(same(A::plan_handle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
static_assert(same(A::plan_engine_config, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
static_assert(same(A::plan_workspace_size, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(same(A::knob_choice_type, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE));
static_assert(same(A::knob_choice_value, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
static_assert(same(A::convolution_forward_alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
static_assert(same(A::convolution_forward_beta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA));
static_assert(same(A::convolution_forward_descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
static_assert(same(A::convolution_forward_w, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
static_assert(same(A::convolution_forward_x, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
static_assert(same(A::convolution_forward_y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
static_assert(same(A::operation_pointwise_descriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
static_assert(same(A::operation_pointwise_x, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
static_assert(same(A::operation_pointwise_b, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
static_assert(same(A::operation_pointwise_y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
static_assert(same(A::operation_pointwise_alpha1, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1));
static_assert(same(A::operation_pointwise_alpha2, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2));
static_assert(same(A::graph_handle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
static_assert(same(A::graph_operations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(same(A::tensor_byte_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
static_assert(same(A::tensor_data_type, CUDNN_ATTR_TENSOR_DATA_TYPE));
static_assert(same(A::tensor_dimensions, CUDNN_ATTR_TENSOR_DIMENSIONS));
static_assert(same(A::tensor_strides, CUDNN_ATTR_TENSOR_STRIDES));
static_assert(same(A::tensor_unique_id, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(same(A::tensor_is_virtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
static_assert(same(A::pack_unique_ids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(same(A::pack_data_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(same(A::pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(same(A::engine_operation_graph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
static_assert(same(A::engine_global_index, CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
static_assert(same(A::engine_numerical_note, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));

using T = AttributeType;
static_assert(same(T::handle, CUDNN_TYPE_HANDLE) && same(T::data_type, CUDNN_TYPE_DATA_TYPE));
static_assert(same(T::boolean, CUDNN_TYPE_BOOLEAN) && same(T::int64, CUDNN_TYPE_INT64));
static_assert(same(T::float32, CUDNN_TYPE_FLOAT) && same(T::float64, CUDNN_TYPE_DOUBLE));
static_assert(same(T::pointer, CUDNN_TYPE_VOID_PTR));
static_assert(same(T::convolution_mode, CUDNN_TYPE_CONVOLUTION_MODE));
static_assert(same(T::heuristics_mode, CUDNN_TYPE_HEUR_MODE) && same(T::knob_type, CUDNN_TYPE_KNOB_TYPE));
static_assert(same(T::numerical_note, CUDNN_TYPE_NUMERICAL_NOTE));
static_assert(same(T::nan_propagation, CUDNN_TYPE_NAN_PROPOGATION));
static_assert(same(NanPropagation::keeps, CUDNN_PROPAGATE_NAN));
static_assert(same(T::pointwise_mode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(same(T::descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));

static_assert(same(DataType::float32, CUDNN_DATA_FLOAT) && same(DataType::float16, CUDNN_DATA_HALF));
static_assert(same(DataType::bfloat16, CUDNN_DATA_BFLOAT16));
static_assert(same(ConvolutionMode::convolution, CUDNN_CONVOLUTION));
static_assert(same(ConvolutionMode::cross_correlation, CUDNN_CROSS_CORRELATION));
static_assert(same(HeuristicsMode::fallback, CUDNN_HEUR_MODE_FALLBACK));
static_assert(same(HeuristicsMode::a, CUDNN_HEUR_MODE_A));

using P = PointwiseMode;
static_assert(same(P::add, CUDNN_POINTWISE_ADD) && same(P::multiply, CUDNN_POINTWISE_MUL));
static_assert(same(P::minimum, CUDNN_POINTWISE_MIN) && same(P::maximum, CUDNN_POINTWISE_MAX));
static_assert(same(P::divide, CUDNN_POINTWISE_DIV) && same(P::subtract, CUDNN_POINTWISE_SUB));
static_assert(same(P::relu, CUDNN_POINTWISE_RELU_FWD) && same(P::tanh, CUDNN_POINTWISE_TANH_FWD));
static_assert(same(P::sigmoid, CUDNN_POINTWISE_SIGMOID_FWD) && same(P::elu, CUDNN_POINTWISE_ELU_FWD));
static_assert(same(P::gelu, CUDNN_POINTWISE_GELU_FWD) && same(P::swish, CUDNN_POINTWISE_SWISH_FWD));
static_assert(same(P::softplus, CUDNN_POINTWISE_SOFTPLUS_FWD));
static_assert(same(P::gelu_tanh, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD));

using N = NumericalNote;
static_assert(same(N::tensor_core, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
static_assert(same(N::down_convert_inputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
static_assert(same(N::reduced_precision_reduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
static_assert(same(N::nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
static_assert(same(N::winograd_tile_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6));
static_assert(same(N::winograd_tile_13x13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13));
static_assert(max_notes >= CUDNN_NUMERICAL_NOTE_TYPE_COUNT);

/// Compares the return type, the number of parameters and the size of each.
template<typename R, typename... Ours, typename Q, typename... Theirs>
constexpr bool alike(R (*)(Ours...), Q (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs))
    return false;
  else
    return std::is_void_v<R> == std::is_void_v<Q> && ((sizeof(Ours) == sizeof(Theirs)) && ... && true);
}
static_assert(alike(Api{}.version, cudnnGetVersion) && alike(Api{}.error_string, cudnnGetErrorString));
static_assert(alike(Api{}.last_error, cudnnGetLastErrorString));
static_assert(alike(Api{}.create, cudnnCreate) && alike(Api{}.destroy, cudnnDestroy));
static_assert(alike(Api{}.set_stream, cudnnSetStream) && alike(Api{}.finalize, cudnnBackendFinalize));
static_assert(alike(Api{}.create_descriptor, cudnnBackendCreateDescriptor));
static_assert(alike(Api{}.destroy_descriptor, cudnnBackendDestroyDescriptor));
static_assert(alike(Api{}.set_attribute, cudnnBackendSetAttribute));
static_assert(alike(Api{}.get_attribute, cudnnBackendGetAttribute));
static_assert(alike(Api{}.execute, cudnnBackendExecute));

} // namespace
} // namespace lanner::cudnn
#endif
