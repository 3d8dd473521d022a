#pragma once
// The part of cuBLASLt that Lanner calls, declared from its reference so that its headers are not needed to
// build (docs.nvidia.com, "cuBLAS", versions 12 and 13). Numbers are that ABI's.

#include <cstddef>
#include <cstdint>

#include "device/cuda/driver_api.h"

namespace lanner::cublaslt {

using Status = int; ///< cublasStatus_t.
using Handle = struct HandleTag*;
using DescriptorHandle = struct DescriptorTag*; ///< cublasLtMatmulDesc_t.
using LayoutHandle = struct LayoutTag*;         ///< cublasLtMatrixLayout_t.
using PreferenceHandle = struct PreferenceTag*; ///< cublasLtMatmulPreference_t.

inline constexpr Status success = 0, alloc_failed = 3, not_supported = 15;

/// cublasComputeType_t: accumulate in f32, operands of f32 not rounded to tf32.
inline constexpr int compute_f32 = 68;

/// cudaDataType_t.
enum class DataType : int { float32 = 0, float16 = 2, bfloat16 = 14 };

/// cublasOperation_t.
inline constexpr std::int32_t operation_none = 0, operation_transpose = 1;

/// cublasLtMatmulDescAttributes_t.
enum class DescriptorAttribute : int {
  transpose_a = 3,
  transpose_b = 4,
  epilogue = 7,
  bias_pointer = 8,
  bias_data_type = 26,
};

/// cublasLtEpilogue_t; bias is one element per row of D.
inline constexpr std::uint32_t epilogue_none = 1, epilogue_relu = 2, epilogue_bias = 4, epilogue_gelu = 32;

/// cublasLtMatrixLayoutAttribute_t.
enum class LayoutAttribute : int { batch_count = 5, batch_stride = 6 };

/// cublasLtMatmulPreferenceAttributes_t.
enum class PreferenceAttribute : int {
  max_workspace = 1,
  min_alignment_a = 5,
  min_alignment_b = 6,
  min_alignment_c = 7,
  min_alignment_d = 8,
};

/// cublasLtMatmulAlgoConfigAttributes_t.
enum class AlgorithmAttribute : int {
  id = 0,
  tile = 1,
  split_k = 2,
  reduction_scheme = 3,
  swizzling = 4,
  custom_option = 5,
  stages = 6,
  inner_shape = 7,
  cluster_shape = 8,
};

/// cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t.
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

/// The library's functions. All are set in an opened table.
struct Api {
  std::size_t (*version)();
  const char* (*status_string)(Status);
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*descriptor_create)(DescriptorHandle*, int compute_type, DataType scale_type);
  Status (*descriptor_destroy)(DescriptorHandle);
  Status (*descriptor_set)(DescriptorHandle, DescriptorAttribute, const void* value, std::size_t bytes);
  Status (*layout_create)(LayoutHandle*, DataType, std::uint64_t rows, std::uint64_t columns,
                          std::int64_t leading_dimension);
  Status (*layout_destroy)(LayoutHandle);
  Status (*layout_set)(LayoutHandle, LayoutAttribute, const void* value, std::size_t bytes);
  Status (*preference_create)(PreferenceHandle*);
  Status (*preference_destroy)(PreferenceHandle);
  Status (*preference_set)(PreferenceHandle, PreferenceAttribute, const void* value, std::size_t bytes);
  Status (*heuristics)(Handle, DescriptorHandle, LayoutHandle a, LayoutHandle b, LayoutHandle c,
                       LayoutHandle d, PreferenceHandle, int room, HeuristicResult*, int* count);
  Status (*algorithm_init)(Handle, int compute_type, DataType scale, DataType a, DataType b, DataType c,
                           DataType d, int id, Algorithm*);
  Status (*algorithm_check)(Handle, DescriptorHandle, LayoutHandle a, LayoutHandle b, LayoutHandle c,
                            LayoutHandle d, const Algorithm*, HeuristicResult*);
  Status (*algorithm_get)(const Algorithm*, AlgorithmAttribute, void* value, std::size_t bytes,
                          std::size_t* written);
  Status (*algorithm_set)(Algorithm*, AlgorithmAttribute, const void* value, std::size_t bytes);
  Status (*matmul)(Handle, DescriptorHandle, const void* alpha, const void* a, LayoutHandle, const void* b,
                   LayoutHandle, const void* beta, const void* c, LayoutHandle, void* d, LayoutHandle,
                   const Algorithm*, void* workspace, std::size_t workspace_bytes, cuda::StreamHandle);
};

} // namespace lanner::cublaslt
