#include "session.h"

#include <charconv>

#include <lanner/error.h>

namespace lanner::tensorflow_ops {
namespace {

void import(TF_Graph* graph, const std::string& bytes) {
  const CApi& api = c_api();
  const TF_Buffer buffer{bytes.data(), bytes.size(), nullptr};
  TF_ImportGraphDefOptions* options = api.TF_NewImportGraphDefOptions();
  const Status status;
  api.TF_GraphImportGraphDef(graph, &buffer, options, status.get());
  api.TF_DeleteImportGraphDefOptions(options);
  status.check("TensorFlow does not read the native segment");
}

/// ConfigProto: allow_soft_placement. Nodes may name devices that this process does not have.
constexpr std::string_view config("\x38\x01");
/// RunOptions: inter_op_thread_pool -1, the caller's thread. It is one of the threads that run operators; if
/// it waited for another one, a process that has no other would wait forever.
constexpr std::string_view run_options("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");

TF_Session* open(TF_Graph* graph) {
  const CApi& api = c_api();
  TF_SessionOptions* options = api.TF_NewSessionOptions();
  const Status status;
  api.TF_SetConfig(options, config.data(), config.size(), status.get());
  TF_Session* session = status.ok() ? api.TF_NewSession(graph, options, status.get()) : nullptr;
  api.TF_DeleteSessionOptions(options);
  status.check("TensorFlow makes no session for the native segment");
  return session;
}

} // namespace

NativeSession::NativeSession(const NativeGraph& graph) {
  const CApi& api = c_api();
  errors::check(api.has_sessions(), ErrorCode::unsupported,
                "TensorFlow's library of sessions is not in this process, so the native segment cannot run");
  graph_ = api.TF_NewGraph();
  try {
    import(graph_, graph.graph_def);
    for (const std::string& name : graph.inputs) inputs_.push_back(find(name));
    for (const std::string& name : graph.outputs) outputs_.push_back(find(name));
    session_ = open(graph_);
  } catch (...) {
    api.TF_DeleteGraph(graph_);
    throw;
  }
}

NativeSession::~NativeSession() {
  const Status ignored;
  c_api().TF_DeleteSession(session_, ignored.get());
  c_api().TF_DeleteGraph(graph_);
}

TF_Output NativeSession::find(const std::string& reference) const {
  const std::size_t colon = reference.rfind(':');
  const std::string name = reference.substr(0, colon);
  int index = 0;
  if (colon != std::string::npos)
    std::from_chars(reference.data() + colon + 1, reference.data() + reference.size(), index);
  TF_Operation* const operation = c_api().TF_GraphOperationByName(graph_, name.c_str());
  errors::check(operation != nullptr, ErrorCode::bad_data, "the native segment has no node '{}'", name);
  return {operation, index};
}

std::vector<TF_Tensor*> NativeSession::run(const std::vector<TF_Tensor*>& inputs,
                                           const Status& status) const {
  std::vector<TF_Tensor*> results(outputs_.size());
  const TF_Buffer options{run_options.data(), run_options.size(), nullptr};
  c_api().TF_SessionRun(session_, &options, inputs_.data(), inputs.data(), static_cast<int>(inputs.size()),
                        outputs_.data(), results.data(), static_cast<int>(results.size()), nullptr, 0,
                        nullptr, status.get());
  if (!status.ok()) results.clear();
  return results;
}

} // namespace lanner::tensorflow_ops
