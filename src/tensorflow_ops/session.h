#pragma once
// The native segment of an engine, run by TensorFlow.

#include <string>
#include <string_view>
#include <vector>

#include "c_api.h"
#include "node.h"

namespace lanner::tensorflow_ops {

/// A private session of TensorFlow on a frozen graph. It starts no threads: nodes run on the thread that
/// asks, and use the process's threads within operators. Thread-safe.
class NativeSession {
public:
  /// Throws Error where TensorFlow refuses the graph.
  explicit NativeSession(const NativeGraph& graph);
  NativeSession(const NativeSession&) = delete;
  NativeSession& operator=(const NativeSession&) = delete;
  ~NativeSession();

  /// The outputs, which the caller deletes. TensorFlow's error is in `status`, with its code; then none is
  /// returned.
  std::vector<TF_Tensor*> run(const std::vector<TF_Tensor*>& inputs, const Status& status) const;

private:
  TF_Output find(const std::string& reference) const;

  TF_Graph* graph_ = nullptr;
  TF_Session* session_ = nullptr;
  std::vector<TF_Output> inputs_, outputs_;
};

} // namespace lanner::tensorflow_ops
