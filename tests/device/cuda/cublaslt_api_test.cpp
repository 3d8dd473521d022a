// Compares our declarations of cuBLASLt with its own headers, where they are available.

#if __has_include(<cublasLt.h>) && __has_include(<cuda_runtime_api.h>)
#include <cublasLt.h>

#include <cstddef>
#include <type_traits>

#include "device/cuda/cublaslt_api.h"

namespace lanner::cublaslt {
namespace {

template<typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs) && sizeof(Ours) == sizeof(Theirs);
}

static_assert(same(success, CUBLAS_STATUS_SUCCESS) && same(alloc_failed, CUBLAS_STATUS_ALLOC_FAILED));
static_assert(same(not_supported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(same(compute_f32, CUBLAS_COMPUTE_32F));
static_assert(same(DataType::float32, CUDA_R_32F) && same(DataType::float16, CUDA_R_16F));
static_assert(same(DataType::bfloat16, CUDA_R_16BF));
static_assert(same(operation_none, CUBLAS_OP_N) && same(operation_transpose, CUBLAS_OP_T));

using D = DescriptorAttribute;
static_assert(same(D::transpose_a, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(same(D::transpose_b, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(same(D::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(same(D::bias_pointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(same(D::bias_data_type, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE));
static_assert(same(epilogue_none, CUBLASLT_EPILOGUE_DEFAULT) && same(epilogue_relu, CUBLASLT_EPILOGUE_RELU));
static_assert(same(epilogue_bias, CUBLASLT_EPILOGUE_BIAS) && same(epilogue_gelu, CUBLASLT_EPILOGUE_GELU));
static_assert(same(epilogue_relu | epilogue_bias, CUBLASLT_EPILOGUE_RELU_BIAS));
static_assert(same(epilogue_gelu | epilogue_bias, CUBLASLT_EPILOGUE_GELU_BIAS));

static_assert(same(LayoutAttribute::batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(same(LayoutAttribute::batch_stride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));

using P = PreferenceAttribute;
static_assert(same(P::max_workspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(same(P::min_alignment_a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
static_assert(same(P::min_alignment_b, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
static_assert(same(P::min_alignment_c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
static_assert(same(P::min_alignment_d, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));

using A = AlgorithmAttribute;
static_assert(same(A::id, CUBLASLT_ALGO_CONFIG_ID) && same(A::tile, CUBLASLT_ALGO_CONFIG_TILE_ID));
static_assert(same(A::split_k, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
static_assert(same(A::reduction_scheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
static_assert(same(A::swizzling, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING));
static_assert(same(A::custom_option, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION));
static_assert(same(A::stages, CUBLASLT_ALGO_CONFIG_STAGES_ID));
static_assert(same(A::inner_shape, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID));
static_assert(same(A::cluster_shape, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));

static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(HeuristicResult, workspace) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(HeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(HeuristicResult, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

/// Compares the return type, the number of parameters and the size of each.
template<typename R, typename... Ours, typename Q, typename... Theirs>
constexpr bool alike(R (*)(Ours...), Q (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs))
    return false;
  else
    return sizeof(R) == sizeof(Q) && ((sizeof(Ours) == sizeof(Theirs)) && ... && true);
}
static_assert(alike(Api{}.version, cublasLtGetVersion));
static_assert(alike(Api{}.status_string, cublasLtGetStatusString));
static_assert(alike(Api{}.create, cublasLtCreate) && alike(Api{}.destroy, cublasLtDestroy));
static_assert(alike(Api{}.descriptor_create, cublasLtMatmulDescCreate));
static_assert(alike(Api{}.descriptor_destroy, cublasLtMatmulDescDestroy));
static_assert(alike(Api{}.descriptor_set, cublasLtMatmulDescSetAttribute));
static_assert(alike(Api{}.layout_create, cublasLtMatrixLayoutCreate));
static_assert(alike(Api{}.layout_destroy, cublasLtMatrixLayoutDestroy));
static_assert(alike(Api{}.layout_set, cublasLtMatrixLayoutSetAttribute));
static_assert(alike(Api{}.preference_create, cublasLtMatmulPreferenceCreate));
static_assert(alike(Api{}.preference_destroy, cublasLtMatmulPreferenceDestroy));
static_assert(alike(Api{}.preference_set, cublasLtMatmulPreferenceSetAttribute));
static_assert(alike(Api{}.heuristics, cublasLtMatmulAlgoGetHeuristic));
static_assert(alike(Api{}.algorithm_init, cublasLtMatmulAlgoInit));
static_assert(alike(Api{}.algorithm_check, cublasLtMatmulAlgoCheck));
static_assert(alike(Api{}.algorithm_get, cublasLtMatmulAlgoConfigGetAttribute));
static_assert(alike(Api{}.algorithm_set, cublasLtMatmulAlgoConfigSetAttribute));
static_assert(alike(Api{}.matmul, cublasLtMatmul));

} // namespace
} // namespace lanner::cublaslt
#endif
