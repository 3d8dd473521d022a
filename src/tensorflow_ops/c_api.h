#pragma once
// The functions of TensorFlow's C API that the operators need, declared here and looked up in the TensorFlow
// of the process: this library is built and linked without TensorFlow. The declarations follow TensorFlow's
// c_api.h, kernels.h, ops.h, tf_buffer.h, tf_status.h and tf_tensor.h, which are stable from 2.x to 2.x.

#include <cstddef>
#include <cstdint>
#include <string>

namespace lanner::tensorflow_ops {

struct TF_AsyncOpKernelDoneCallback;
struct TF_Graph;
struct TF_ImportGraphDefOptions;
struct TF_KernelBuilder;
struct TF_OpDefinitionBuilder;
struct TF_Operation;
struct TF_OpKernelConstruction;
struct TF_OpKernelContext;
struct TF_Session;
struct TF_SessionOptions;
struct TF_ShapeHandle;
struct TF_ShapeInferenceContext;
struct TF_Status;
struct TF_Tensor;

struct TF_AllocatorAttributes {
  std::size_t struct_size;
  unsigned char on_host;
};
struct TF_Buffer {
  const void* data;
  std::size_t length;
  void (*data_deallocator)(void* data, std::size_t length);
};
struct TF_Output {
  TF_Operation* oper;
  int index;
};
struct TF_StringView {
  const char* data;
  std::size_t len;
};

/// TF_DataType, by the numbers of types.proto.
using TF_DataType = int;
inline constexpr TF_DataType tf_uint8 = 4, tf_string = 7, tf_resource = 20, tf_variant = 21;

/// TF_Code: gRPC's numbers.
enum Code : int {
  code_ok = 0,
  code_cancelled = 1,
  code_invalid_argument = 3,
  code_not_found = 5,
  code_resource_exhausted = 8,
  code_aborted = 10,
  code_unimplemented = 12,
  code_internal = 13,
};

using CreateKernel = void* (*)(TF_OpKernelConstruction*);
using ComputeKernel = void (*)(void*, TF_OpKernelContext*);
using DeleteKernel = void (*)(void*);
using InferShape = void (*)(TF_ShapeInferenceContext*, TF_Status*);
using FreeTensor = void (*)(void* data, std::size_t length, void* argument);

// name, result, arguments
#define LANNER_TENSORFLOW_NEEDED(X)                                                                          \
  X(TF_NewStatus, TF_Status*, ())                                                                            \
  X(TF_DeleteStatus, void, (TF_Status*))                                                                     \
  X(TF_SetStatus, void, (TF_Status*, int code, const char* message))                                         \
  X(TF_GetCode, int, (const TF_Status*))                                                                     \
  X(TF_Message, const char*, (const TF_Status*))                                                             \
  X(TF_NewBuffer, TF_Buffer*, ())                                                                            \
  X(TF_DeleteBuffer, void, (TF_Buffer*))                                                                     \
  X(TF_NewTensor, TF_Tensor*,                                                                                \
    (TF_DataType, const std::int64_t* dims, int rank, void* data, std::size_t, FreeTensor, void* argument))  \
  X(TF_AllocateTensor, TF_Tensor*, (TF_DataType, const std::int64_t* dims, int rank, std::size_t))           \
  X(TF_TensorBitcastFrom, void,                                                                              \
    (const TF_Tensor* from, TF_DataType, TF_Tensor* to, const std::int64_t* dims, int rank, TF_Status*))     \
  X(TF_DeleteTensor, void, (TF_Tensor*))                                                                     \
  X(TF_TensorType, TF_DataType, (const TF_Tensor*))                                                          \
  X(TF_NumDims, int, (const TF_Tensor*))                                                                     \
  X(TF_Dim, std::int64_t, (const TF_Tensor*, int))                                                           \
  X(TF_TensorByteSize, std::size_t, (const TF_Tensor*))                                                      \
  X(TF_TensorData, void*, (const TF_Tensor*))                                                                \
  X(TF_NewOpDefinitionBuilder, TF_OpDefinitionBuilder*, (const char* name))                                  \
  X(TF_OpDefinitionBuilderAddAttr, void, (TF_OpDefinitionBuilder*, const char*))                             \
  X(TF_OpDefinitionBuilderAddInput, void, (TF_OpDefinitionBuilder*, const char*))                            \
  X(TF_OpDefinitionBuilderAddOutput, void, (TF_OpDefinitionBuilder*, const char*))                           \
  X(TF_OpDefinitionBuilderSetIsStateful, void, (TF_OpDefinitionBuilder*, bool))                              \
  X(TF_OpDefinitionBuilderSetShapeInferenceFunction, void, (TF_OpDefinitionBuilder*, InferShape))            \
  X(TF_RegisterOpDefinition, void, (TF_OpDefinitionBuilder*, TF_Status*))                                    \
  X(TF_ShapeInferenceContextSetUnknownShape, void, (TF_ShapeInferenceContext*, TF_Status*))                  \
  X(TF_ShapeInferenceContextScalar, TF_ShapeHandle*, (TF_ShapeInferenceContext*))                            \
  X(TF_ShapeInferenceContextSetOutput, void, (TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*))  \
  X(TF_DeleteShapeHandle, void, (TF_ShapeHandle*))                                                           \
  X(TF_NewKernelBuilder, TF_KernelBuilder*,                                                                  \
    (const char* op, const char* device, CreateKernel, ComputeKernel, DeleteKernel))                         \
  X(TF_KernelBuilder_HostMemory, void, (TF_KernelBuilder*, const char* argument))                            \
  X(TF_RegisterKernelBuilder, void, (const char* name, TF_KernelBuilder*, TF_Status*))                       \
  X(TF_OpKernelConstruction_GetNodeDef, TF_Buffer*, (TF_OpKernelConstruction*, TF_Status*))                  \
  X(TF_OpKernelConstruction_Failure, void, (TF_OpKernelConstruction*, TF_Status*))                           \
  X(TF_OpKernelContext_Failure, void, (TF_OpKernelContext*, TF_Status*))                                     \
  X(TF_GetSerializedFunctionDefLibrary, void, (TF_OpKernelContext*, TF_Buffer*, TF_Status*))                 \
  X(TF_GetSerializedConfigProto, void, (TF_OpKernelContext*, TF_Buffer*, TF_Status*))                        \
  X(TF_NumInputs, int, (TF_OpKernelContext*))                                                                \
  X(TF_NumOutputs, int, (TF_OpKernelContext*))                                                               \
  X(TF_GetInput, void, (TF_OpKernelContext*, int, TF_Tensor**, TF_Status*))                                  \
  X(TF_InputDatatype, TF_DataType, (TF_OpKernelContext*, int))                                               \
  X(TF_ExpectedOutputDataType, TF_DataType, (TF_OpKernelContext*, int))                                      \
  X(TF_SetOutput, void, (TF_OpKernelContext*, int, const TF_Tensor*, TF_Status*))                            \
  X(TF_AllocateOutput, TF_Tensor*,                                                                           \
    (TF_OpKernelContext*, int, TF_DataType, const std::int64_t* dims, int rank, std::size_t, TF_Status*))    \
  X(TF_AllocateTemp, TF_Tensor*,                                                                             \
    (TF_OpKernelContext*, TF_DataType, const std::int64_t* dims, int rank, TF_AllocatorAttributes*,          \
     TF_Status*))

// Absent where TensorFlow's library of sessions is not in the process.
#define LANNER_TENSORFLOW_OPTIONAL(X)                                                                        \
  X(TF_Version, const char*, ())                                                                             \
  X(TF_StringGetDataPointer, const char*, (const void*))                                                     \
  X(TF_StringGetSize, std::size_t, (const void*))                                                            \
  X(TF_GetRegisteredKernelsForOp, TF_Buffer*, (const char* name, TF_Status*))                                \
  X(TF_NewGraph, TF_Graph*, ())                                                                              \
  X(TF_DeleteGraph, void, (TF_Graph*))                                                                       \
  X(TF_GraphGetOpDef, void, (TF_Graph*, const char* name, TF_Buffer*, TF_Status*))                           \
  X(TF_GraphOperationByName, TF_Operation*, (TF_Graph*, const char* name))                                   \
  X(TF_GraphImportGraphDef, void,                                                                            \
    (TF_Graph*, const TF_Buffer*, const TF_ImportGraphDefOptions*, TF_Status*))                              \
  X(TF_NewImportGraphDefOptions, TF_ImportGraphDefOptions*, ())                                              \
  X(TF_DeleteImportGraphDefOptions, void, (TF_ImportGraphDefOptions*))                                       \
  X(TF_NewSessionOptions, TF_SessionOptions*, ())                                                            \
  X(TF_DeleteSessionOptions, void, (TF_SessionOptions*))                                                     \
  X(TF_SetConfig, void, (TF_SessionOptions*, const void* config, std::size_t, TF_Status*))                   \
  X(TF_NewSession, TF_Session*, (TF_Graph*, const TF_SessionOptions*, TF_Status*))                           \
  X(TF_DeleteSession, void, (TF_Session*, TF_Status*))                                                       \
  X(TF_SessionRun, void,                                                                                     \
    (TF_Session*, const TF_Buffer* options, const TF_Output* inputs, TF_Tensor* const* values, int ninputs,  \
     const TF_Output* outputs, TF_Tensor** results, int noutputs, const TF_Operation* const* targets,        \
     int ntargets, TF_Buffer* metadata, TF_Status*))

/// TensorFlow's functions; optional ones may be null.
struct CApi {
#define LANNER_TENSORFLOW_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
  LANNER_TENSORFLOW_NEEDED(LANNER_TENSORFLOW_MEMBER)
  LANNER_TENSORFLOW_OPTIONAL(LANNER_TENSORFLOW_MEMBER)
#undef LANNER_TENSORFLOW_MEMBER

  std::string missing; ///< Why the operators cannot be registered; empty: they can.
  bool has_sessions() const {
    return TF_NewSession && TF_SessionRun && TF_GraphImportGraphDef && TF_NewGraph;
  }
};

/// Those of the TensorFlow in this process, looked up until they are found.
const CApi& c_api();

/// A TF_Status with its lifetime.
class Status {
public:
  Status() : status_(c_api().TF_NewStatus()) {}
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  ~Status() { c_api().TF_DeleteStatus(status_); }

  TF_Status* get() const { return status_; }
  bool ok() const { return c_api().TF_GetCode(status_) == code_ok; }
  std::string message() const { return c_api().TF_Message(status_); }
  /// Throws Error with `what` before TensorFlow's message unless it is OK.
  void check(const char* what) const;

private:
  TF_Status* status_;
};

/// A TF_Buffer with its lifetime.
class Buffer {
public:
  explicit Buffer(TF_Buffer* buffer) : buffer_(buffer) {}
  Buffer() : buffer_(c_api().TF_NewBuffer()) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (buffer_) c_api().TF_DeleteBuffer(buffer_);
  }

  TF_Buffer* get() const { return buffer_; }
  std::string_view bytes() const {
    return buffer_ ? std::string_view(static_cast<const char*>(buffer_->data), buffer_->length)
                   : std::string_view();
  }

private:
  TF_Buffer* buffer_;
};

} // namespace lanner::tensorflow_ops
