#pragma once
// The part of cuDNN's graph interface that Lanner calls, declared from its reference so that its headers are
// not needed to build (docs.nvidia.com, "cuDNN Backend API", version 9). Numbers are that ABI's.

#include <cstddef>
#include <cstdint>

#include "device/cuda/driver_api.h"

namespace lanner::cudnn {

using Status = int; ///< cudnnStatus_t.
using Handle = struct HandleTag*;
using DescriptorHandle = void*; ///< cudnnBackendDescriptor_t.

inline constexpr Status success = 0;
inline constexpr Status not_supported_first = 3000, not_supported_last = 3999;
inline constexpr Status host_allocation_failed = 4003, device_allocation_failed = 4004;

/// cudnnBackendDescriptorType_t.
enum class DescriptorType : int {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engine_config = 3,
  engine_heuristics = 4,
  execution_plan = 5,
  knob_choice = 7,
  operation_convolution_forward = 10,
  operation_pointwise = 13,
  operation_graph = 15,
  variant_pack = 16,
  tensor = 17,
};

/// cudnnBackendAttributeName_t.
enum class Attribute : int {
  pointwise_mode = 0,
  pointwise_math_precision = 1,
  pointwise_nan_propagation = 2,
  pointwise_relu_lower_clip = 3,
  pointwise_relu_upper_clip = 4,
  pointwise_relu_lower_clip_slope = 5,
  pointwise_elu_alpha = 6,
  pointwise_softplus_beta = 7,
  pointwise_swish_beta = 8,
  convolution_compute_type = 100,
  convolution_mode = 101,
  convolution_dilations = 102,
  convolution_strides = 103,
  convolution_post_paddings = 104,
  convolution_pre_paddings = 105,
  convolution_spatial_dims = 106,
  heuristics_mode = 200,
  heuristics_operation_graph = 201,
  heuristics_results = 202,
  engine_config_engine = 300,
  engine_config_knob_choices = 302,
  plan_handle = 400,
  plan_engine_config = 401,
  plan_workspace_size = 402,
  knob_choice_type = 600,
  knob_choice_value = 601,
  convolution_forward_alpha = 700,
  convolution_forward_beta = 701,
  convolution_forward_descriptor = 702,
  convolution_forward_w = 703,
  convolution_forward_x = 704,
  convolution_forward_y = 705,
  operation_pointwise_descriptor = 750,
  operation_pointwise_x = 751,
  operation_pointwise_b = 752,
  operation_pointwise_y = 753,
  operation_pointwise_alpha1 = 754,
  operation_pointwise_alpha2 = 755,
  graph_handle = 800,
  graph_operations = 801,
  tensor_byte_alignment = 900,
  tensor_data_type = 901,
  tensor_dimensions = 902,
  tensor_strides = 903,
  tensor_unique_id = 906,
  tensor_is_virtual = 907,
  pack_unique_ids = 1000,
  pack_data_pointers = 1001,
  pack_workspace = 1003,
  engine_operation_graph = 1300,
  engine_global_index = 1301,
  engine_numerical_note = 1303,
};

/// cudnnBackendAttributeType_t.
enum class AttributeType : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  float32 = 4,
  float64 = 5,
  pointer = 6,
  convolution_mode = 7,
  heuristics_mode = 8,
  knob_type = 9,
  nan_propagation = 10,
  numerical_note = 11,
  pointwise_mode = 14,
  descriptor = 15,
};

/// cudnnDataType_t.
enum class DataType : int { float32 = 0, float16 = 2, bfloat16 = 9 };

/// cudnnNanPropagation_t.
enum class NanPropagation : int { hides = 0, keeps = 1 };

/// cudnnConvolutionMode_t.
enum class ConvolutionMode : int { convolution = 0, cross_correlation = 1 };

/// cudnnPointwiseMode_t.
enum class PointwiseMode : int {
  add = 0,
  multiply = 1,
  minimum = 2,
  maximum = 3,
  sqrt = 4,
  divide = 6,
  subtract = 9,
  abs = 10,
  exp = 12,
  log = 15,
  relu = 100,
  tanh = 101,
  sigmoid = 102,
  elu = 103,
  gelu = 104,
  softplus = 105,
  swish = 106,
  gelu_tanh = 107,
};

/// cudnnBackendHeurMode_t.
enum class HeuristicsMode : int { fallback = 2, a = 3 };

/// cudnnBackendNumericalNote_t.
enum class NumericalNote : int {
  tensor_core = 0,
  down_convert_inputs = 1,
  reduced_precision_reduction = 2,
  fft = 3,
  nondeterministic = 4,
  winograd = 5,
  winograd_tile_4x4 = 6,
  winograd_tile_6x6 = 7,
  winograd_tile_13x13 = 8,
};
/// Upper bounds of the notes, and types of knobs, that any version has.
inline constexpr std::size_t max_notes = 32, max_knobs = 64;

/// The library's functions. All are set in an opened table.
struct Api {
  std::size_t (*version)();
  const char* (*error_string)(Status);
  void (*last_error)(char* text, std::size_t size);
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*set_stream)(Handle, cuda::StreamHandle);
  Status (*create_descriptor)(DescriptorType, DescriptorHandle*);
  Status (*destroy_descriptor)(DescriptorHandle);
  Status (*set_attribute)(DescriptorHandle, Attribute, AttributeType, std::int64_t count, const void* values);
  Status (*get_attribute)(DescriptorHandle, Attribute, AttributeType, std::int64_t room, std::int64_t* count,
                          void* values);
  Status (*finalize)(DescriptorHandle);
  Status (*execute)(Handle, DescriptorHandle plan, DescriptorHandle pack);
};

} // namespace lanner::cudnn
