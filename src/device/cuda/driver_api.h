#pragma once
// The part of the CUDA driver's interface that Lanner calls, declared from its reference so that neither a
// toolkit nor a GPU is needed to build (docs.nvidia.com, "CUDA Driver API", versions 12 and 13). Numbers are
// that ABI's.

#include <cstddef>
#include <cstdint>

namespace lanner::cuda {

using Result = int;                  ///< CUresult.
using DevicePointer = std::uint64_t; ///< CUdeviceptr.
using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using GraphHandle = struct GraphTag*;
using GraphExecHandle = struct GraphExecTag*;
using GraphNodeHandle = struct GraphNodeTag*;

inline constexpr Result success = 0, error_out_of_memory = 2, error_not_ready = 600;

inline constexpr int attribute_multiprocessors = 16;
inline constexpr int attribute_capability_major = 75, attribute_capability_minor = 76;
inline constexpr int pointer_attribute_device_ordinal = 9;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0, event_disable_timing = 2;
inline constexpr int capture_relaxed = 2; ///< CU_STREAM_CAPTURE_MODE_RELAXED.
inline constexpr int function_attribute_max_dynamic_shared = 8;
inline constexpr unsigned host_alloc_portable = 1;

/// CUDA_MEMCPY2D: a copy of rows. Types of memory: 1 host, 2 device.
struct CopyRows {
  std::size_t from_x = 0, from_y = 0;
  unsigned from_type = 2;
  const void* from_host = nullptr;
  DevicePointer from_device = 0;
  void* from_array = nullptr;
  std::size_t from_pitch = 0;
  std::size_t to_x = 0, to_y = 0;
  unsigned to_type = 2;
  void* to_host = nullptr;
  DevicePointer to_device = 0;
  void* to_array = nullptr;
  std::size_t to_pitch = 0;
  std::size_t row_bytes = 0, rows = 0;
};
inline constexpr unsigned memory_host = 1, memory_device = 2;

/// CUgraphEdgeData: what one graph node waits for in another. All zero: for its end.
struct GraphEdge {
  unsigned char from_port = 0, to_port = 0, type = 0;
  unsigned char reserved[5] = {};
};
inline constexpr unsigned char edge_port_programmatic = 1, edge_type_programmatic = 1;

inline constexpr int graph_node_kernel = 0; ///< CU_GRAPH_NODE_TYPE_KERNEL.

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct GraphKernelNode {
  FunctionHandle function = nullptr;
  unsigned grid[3] = {}, block[3] = {}, shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  ContextHandle context = nullptr;
};

/// The driver's functions. All are set in an opened table, except those marked.
struct Driver {
  Result (*init)(unsigned flags);
  Result (*version)(int* version);
  Result (*error_name)(Result, const char** text);
  Result (*error_string)(Result, const char** text);

  Result (*device_count)(int* count);
  Result (*device_get)(int* device, int ordinal);
  Result (*device_name)(char* name, int length, int device);
  Result (*device_memory)(std::size_t* bytes, int device);
  Result (*device_attribute)(int* value, int attribute, int device);

  Result (*context_retain)(ContextHandle* context, int device);
  Result (*context_push)(ContextHandle);
  Result (*context_pop)(ContextHandle*);

  Result (*memory_alloc)(DevicePointer*, std::size_t bytes);
  Result (*memory_free)(DevicePointer);
  Result (*memory_info)(std::size_t* free, std::size_t* total);
  Result (*host_alloc)(void** memory, std::size_t bytes, unsigned flags);
  Result (*host_free)(void* memory);
  Result (*copy)(DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle);
  Result (*copy_to_device)(DevicePointer to, const void* from, std::size_t bytes, StreamHandle);
  Result (*copy_to_host)(void* to, DevicePointer from, std::size_t bytes, StreamHandle);
  Result (*copy_rows)(const CopyRows*, StreamHandle);
  Result (*memory_alloc_async)(DevicePointer*, std::size_t bytes, StreamHandle);
  Result (*memory_free_async)(DevicePointer, StreamHandle);
  Result (*set_bytes)(DevicePointer to, unsigned char value, std::size_t bytes, StreamHandle);
  Result (*pointer_attribute)(void* value, int attribute, DevicePointer);

  Result (*stream_create)(StreamHandle*, unsigned flags);
  Result (*stream_destroy)(StreamHandle);
  Result (*stream_synchronize)(StreamHandle);
  Result (*stream_wait_event)(StreamHandle, EventHandle, unsigned flags);
  Result (*stream_begin_capture)(StreamHandle, int mode);
  Result (*stream_end_capture)(StreamHandle, GraphHandle*);

  Result (*event_create)(EventHandle*, unsigned flags);
  Result (*event_destroy)(EventHandle);
  Result (*event_record)(EventHandle, StreamHandle);
  Result (*event_query)(EventHandle);
  Result (*event_synchronize)(EventHandle);
  Result (*event_elapsed)(float* milliseconds, EventHandle from, EventHandle to);

  Result (*graph_instantiate)(GraphExecHandle*, GraphHandle, unsigned long long flags);
  Result (*graph_launch)(GraphExecHandle, StreamHandle);
  Result (*graph_destroy)(GraphHandle);
  /// The next five are null before CUDA 12.3.
  Result (*graph_edges)(GraphHandle, GraphNodeHandle* from, GraphNodeHandle* to, GraphEdge*, std::size_t*);
  Result (*graph_add_edges)(GraphHandle, const GraphNodeHandle* from, const GraphNodeHandle* to,
                            const GraphEdge*, std::size_t);
  Result (*graph_remove_edges)(GraphHandle, const GraphNodeHandle* from, const GraphNodeHandle* to,
                               const GraphEdge*, std::size_t);
  Result (*graph_node_type)(GraphNodeHandle, int* type);
  Result (*graph_kernel_node)(GraphNodeHandle, GraphKernelNode*);
  Result (*graph_exec_destroy)(GraphExecHandle);

  /// Write 128 bytes to `map`.
  Result (*tensor_map_tiled)(void* map, int type, unsigned rank, void* memory, const std::uint64_t* dims,
                             const std::uint64_t* byte_strides, const std::uint32_t* box,
                             const std::uint32_t* steps, int interleave, int swizzle, int promotion,
                             int fill);
  Result (*tensor_map_images)(void* map, int type, unsigned rank, void* memory, const std::uint64_t* dims,
                              const std::uint64_t* byte_strides, const int* lower, const int* upper,
                              std::uint32_t channels, std::uint32_t pixels, const std::uint32_t* steps,
                              int interleave, int swizzle, int promotion, int fill);

  Result (*module_load)(ModuleHandle*, const void* image);
  Result (*module_unload)(ModuleHandle);
  Result (*module_function)(FunctionHandle*, ModuleHandle, const char* name);
  Result (*function_set_attribute)(FunctionHandle, int attribute, int value);
  Result (*launch)(FunctionHandle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle, void** parameters,
                   void** extra);

  /// Between the memory of two contexts, through the host where there is no peer access. The stream is one of
  /// the current context.
  Result (*copy_between)(DevicePointer to, ContextHandle, DevicePointer from, ContextHandle,
                         std::size_t bytes, StreamHandle);
  /// Whether kernels and copies of `device` may access the memory of `other` directly (peer access).
  Result (*can_reach)(int* can, int device, int other);
  /// Gives the current context access to another device's memory; each direction is enabled separately.
  Result (*enable_reach)(ContextHandle other, unsigned flags);
};

} // namespace lanner::cuda
