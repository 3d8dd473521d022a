#include "operators.h"

#include <array>
#include <mutex>

#include <lanner/error.h>

#include "c_api.h"
#include "engine.h"

namespace lanner::tensorflow_ops {
namespace {

int code_of(ErrorCode code) {
  switch (code) {
  case ErrorCode::invalid_argument:
  case ErrorCode::bad_data:
    return code_invalid_argument;
  case ErrorCode::not_found:
    return code_not_found;
  case ErrorCode::limit_exceeded:
  case ErrorCode::out_of_memory:
    return code_resource_exhausted;
  case ErrorCode::unsupported:
    return code_unimplemented;
  case ErrorCode::cancelled:
    return code_aborted;
  default:
    return code_internal;
  }
}

/// Calls `body`; what it throws becomes an error in `status`, after the node's name.
template<typename Body>
void reporting(const std::string& node, const Status& status, Body&& body) {
  const auto report = [&](int code, const char* message) {
    c_api().TF_SetStatus(status.get(), code, fmt::format("{}: {}", node, message).c_str());
  };
  try {
    body();
  } catch (const Error& error) {
    report(code_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    report(code_resource_exhausted, "memory was refused by the system");
  } catch (const std::exception& error) {
    report(code_internal, error.what());
  }
}

/// One kernel of TensorFlow's. Its engine is found at its first run, when the function library can be read.
class EngineKernel {
public:
  explicit EngineKernel(std::string node_def) : node_(read_node(node_def)), node_def_(std::move(node_def)) {}

  void compute(TF_OpKernelContext* context) {
    const Status status;
    reporting(node_.name, status, [&] { entry(context).run(context, status); });
    if (!status.ok()) c_api().TF_OpKernelContext_Failure(context, status.get());
  }

private:
  EngineEntry& entry(TF_OpKernelContext* context) {
    const std::scoped_lock lock(mutex_);
    if (!entry_) {
      const std::vector<NodeShape> shapes = input_shapes(context);
      const std::string place = node_.segment_place;
      GraphAgain again;
      const bool is_function = is_function_place(place);
      if (is_function)
        again = [node_def = node_def_, node = node_, place, shapes] {
          return engine_graph(node_def, node, shapes, function_of_file(place));
        };
      else if (!place.empty())
        again = [node_def = node_def_, place, shapes] {
          const std::string whole = with_segment_of_file(node_def, place);
          return engine_graph(whole, read_node(whole), shapes, {});
        };
      const std::string functions = place.empty() ? library(context) : std::string();
      Node node = node_;
      node.has_function = !functions.empty() || is_function;
      node.has_segment |= !place.empty() && !is_function;
      std::string graph = again ? again() : engine_graph(node_def_, node_, shapes, functions);
      entry_ = entry_of(node, std::move(graph), std::move(again), config(context));
      std::string().swap(node_def_); // weights are in it
    }
    return *entry_;
  }

  /// Those of the node; of the rank that the first inputs have where it does not say.
  std::vector<NodeShape> input_shapes(TF_OpKernelContext* context) const {
    const CApi& api = c_api();
    std::vector<NodeShape> shapes(node_.input_types.size());
    errors::check(api.TF_NumInputs(context) == static_cast<int>(shapes.size()), ErrorCode::bad_data,
                  "InT has {} types for {} inputs", shapes.size(), api.TF_NumInputs(context));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (i < node_.input_shapes.size() && node_.input_shapes[i].ranked) {
        shapes[i] = node_.input_shapes[i];
        continue;
      }
      TF_Tensor* tensor = nullptr;
      const Status status;
      api.TF_GetInput(context, static_cast<int>(i), &tensor, status.get());
      status.check("an input");
      const TensorPtr owner(tensor);
      shapes[i] = {true, std::vector<std::int64_t>(static_cast<std::size_t>(api.TF_NumDims(tensor)), -1)};
    }
    return shapes;
  }

  std::string library(TF_OpKernelContext* context) const {
    if (node_.has_segment) return {};
    const Buffer buffer;
    const Status status;
    c_api().TF_GetSerializedFunctionDefLibrary(context, buffer.get(), status.get());
    status.check("the function library");
    return functions_for(buffer.bytes(), node_.function);
  }

  static std::string config(TF_OpKernelContext* context) {
    const Buffer buffer;
    const Status status;
    c_api().TF_GetSerializedConfigProto(context, buffer.get(), status.get());
    return status.ok() ? std::string(buffer.bytes()) : std::string();
  }

  const Node node_;
  std::string node_def_; ///< Until the engine is found.
  std::mutex mutex_;
  std::shared_ptr<EngineEntry> entry_;
};

void* create_engine(TF_OpKernelConstruction* construction) {
  const CApi& api = c_api();
  const Status status;
  EngineKernel* kernel = nullptr;
  reporting("TRTEngineOp", status, [&] {
    const Status read;
    const Buffer node_def(api.TF_OpKernelConstruction_GetNodeDef(construction, read.get()));
    read.check("the node");
    kernel = new EngineKernel(std::string(node_def.bytes()));
  });
  if (!status.ok()) api.TF_OpKernelConstruction_Failure(construction, status.get());
  return kernel;
}

void compute_engine(void* kernel, TF_OpKernelContext* context) {
  static_cast<EngineKernel*>(kernel)->compute(context);
}

void delete_engine(void* kernel) {
  delete static_cast<EngineKernel*>(kernel);
}

/// An empty handle: what TF-TRT keeps behind it is TensorRT's, and engines here belong to their nodes.
void compute_handle(void*, TF_OpKernelContext* context) {
  const CApi& api = c_api();
  const Status status;
  const TF_Tensor* const made = api.TF_AllocateOutput(context, 0, tf_resource, nullptr, 0, 0, status.get());
  if (made) api.TF_DeleteTensor(const_cast<TF_Tensor*>(made));
  if (!status.ok()) api.TF_OpKernelContext_Failure(context, status.get());
}

void compute_nothing(void*, TF_OpKernelContext*) {}

void compute_calibration(void*, TF_OpKernelContext* context) {
  const Status status;
  c_api().TF_SetStatus(status.get(), code_unimplemented,
                       "GetCalibrationDataOp: calibration runs outside TensorFlow: lanner.tf.convert(..., "
                       "precision=\"int8\", calibration_data=...)");
  c_api().TF_OpKernelContext_Failure(context, status.get());
}

void infer_unknown(TF_ShapeInferenceContext* context, TF_Status* status) {
  c_api().TF_ShapeInferenceContextSetUnknownShape(context, status);
}

void infer_scalar(TF_ShapeInferenceContext* context, TF_Status* status) {
  const CApi& api = c_api();
  TF_ShapeHandle* const scalar = api.TF_ShapeInferenceContextScalar(context);
  api.TF_ShapeInferenceContextSetOutput(context, 0, scalar, status);
  api.TF_DeleteShapeHandle(scalar);
}

void infer_nothing(TF_ShapeInferenceContext*, TF_Status*) {}

struct Operator {
  const char* name;
  std::vector<const char*> attributes, inputs, outputs;
  InferShape infer;
  CreateKernel create;
  ComputeKernel compute;
  DeleteKernel remove;
};

/// Attributes of TRTEngineOp in all releases of TF-TRT; those that only some had may be missing.
const std::vector<const char*>& engine_attributes() {
  static const std::vector<const char*> attributes{
      "InT: list(type) >= 0",
      "OutT: list(type) >= 0",
      "serialized_segment: string = ''",
      "segment_func: func = {}",
      "input_shapes: list(shape) = []",
      "output_shapes: list(shape) = []",
      "max_cached_engines_count: int = 1",
      "max_batch_size: int = 1",
      "workspace_size_bytes: int = 0",
      "precision_mode: string = 'FP32'",
      "calibration_data: string = ''",
      "use_calibration: bool = true",
      "segment_funcdef_name: string = ''",
      "cached_engine_batches: list(int) = []",
      "fixed_input_size: bool = true",
      "static_engine: bool = true",
      "profile_strategy: string = ''",
      "use_explicit_precision: bool = false",
  };
  return attributes;
}

std::vector<Operator> operators() {
  std::vector<Operator> made;
  for (const char* name : {"LannerEngineOp", "TRTEngineOp"})
    made.push_back({name,
                    engine_attributes(),
                    {"in_tensor: InT"},
                    {"out_tensor: OutT"},
                    infer_unknown,
                    create_engine,
                    compute_engine,
                    delete_engine});
  made.push_back({"CreateTRTResourceHandle",
                  {"resource_name: string"},
                  {},
                  {"resource_handle: resource"},
                  infer_scalar,
                  nullptr,
                  compute_handle,
                  nullptr});
  made.push_back({"InitializeTRTResource",
                  {"max_cached_engines_count: int = 1"},
                  {"resource_handle: resource", "filename: string"},
                  {},
                  infer_nothing,
                  nullptr,
                  compute_nothing,
                  nullptr});
  made.push_back({"GetCalibrationDataOp",
                  {},
                  {"resource_name: string"},
                  {"serialized_resource: string"},
                  infer_scalar,
                  nullptr,
                  compute_calibration,
                  nullptr});
  return made;
}

bool is_defined(const char* name) {
  const CApi& api = c_api();
  TF_Graph* const graph = api.TF_NewGraph();
  const Buffer buffer;
  const Status status;
  api.TF_GraphGetOpDef(graph, name, buffer.get(), status.get());
  api.TF_DeleteGraph(graph);
  return status.ok();
}

bool has_kernel(const char* name) {
  if (!c_api().TF_GetRegisteredKernelsForOp) return false;
  const Status status;
  const Buffer kernels(c_api().TF_GetRegisteredKernelsForOp(name, status.get()));
  return status.ok() && !kernels.bytes().empty();
}

void define(const Operator& added) {
  const CApi& api = c_api();
  TF_OpDefinitionBuilder* const builder = api.TF_NewOpDefinitionBuilder(added.name);
  for (const char* attribute : added.attributes) api.TF_OpDefinitionBuilderAddAttr(builder, attribute);
  for (const char* input : added.inputs) api.TF_OpDefinitionBuilderAddInput(builder, input);
  for (const char* output : added.outputs) api.TF_OpDefinitionBuilderAddOutput(builder, output);
  // Not folded and not merged: constant folding gives kernels no function library.
  api.TF_OpDefinitionBuilderSetIsStateful(builder, true);
  api.TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, added.infer);
  const Status status;
  api.TF_RegisterOpDefinition(builder, status.get());
  status.check(added.name);
}

/// A kernel for a device. On GPUs inputs and outputs pass through the host's memory.
void add_kernel(const Operator& added, const char* device) {
  const CApi& api = c_api();
  TF_KernelBuilder* const builder =
      api.TF_NewKernelBuilder(added.name, device, added.create, added.compute, added.remove);
  if (std::string_view(device) == "GPU")
    for (const auto* arguments : {&added.inputs, &added.outputs})
      for (const std::string_view argument : *arguments)
        api.TF_KernelBuilder_HostMemory(builder, std::string(argument.substr(0, argument.find(':'))).c_str());
  const Status status;
  api.TF_RegisterKernelBuilder(added.name, builder, status.get());
  status.check(added.name);
}

} // namespace

std::vector<std::string> register_operators() {
  const CApi& api = c_api();
  errors::check(api.missing.empty(), ErrorCode::unsupported, "{}", api.missing);
  const bool can_ask = api.TF_NewGraph && api.TF_DeleteGraph && api.TF_GraphGetOpDef;
  std::vector<std::string> names;
  for (const Operator& added : operators()) {
    const bool is_ours = std::string_view(added.name) == "LannerEngineOp";
    if (!is_ours && !can_ask) continue; // a name that is defined twice ends the process
    const bool known = can_ask && is_defined(added.name);
    if (known && (is_ours || has_kernel(added.name))) continue;
    if (!known) define(added);
    for (const char* device : {"CPU", "GPU"}) add_kernel(added, device);
    names.emplace_back(added.name);
  }
  return names;
}

} // namespace lanner::tensorflow_ops
