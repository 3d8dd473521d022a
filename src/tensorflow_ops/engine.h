#pragma once
// The engines behind the nodes: one for each different node of a process, however many kernels it has.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/tensorflow.h>

#include "node.h"
#include "session.h"
#include "tensors.h"

namespace lanner::tensorflow_ops {

/// What register() says of all engines that are made later.
struct Settings {
  int threads = 0;              ///< 0: as many as TensorFlow uses within one operator.
  std::optional<double> budget; ///< Seconds to time kernels of one engine; unset: the default of builds.
  bool native_segments = true;  ///< False: an error instead of a run of the native segment.
};
Settings settings();
void change_settings(const Settings& settings);

/// Makes the graph of engine_graph() another time, from a file; empty: it cannot be made again.
using GraphAgain = std::function<std::string()>;

/// An engine, or the native segment where there is none. Thread-safe.
class EngineEntry {
public:
  EngineEntry(Node node, std::string graph, GraphAgain again, int threads, const Settings& settings);

  /// Runs it for one kernel. Throws Error, or leaves TensorFlow's own error in `status`.
  void run(TF_OpKernelContext* context, const Status& status);

  /// As one JSON object.
  std::string statistics() const;

private:
  const tf::Model* model();
  void build();
  void run_engine(TF_OpKernelContext* context, const std::vector<Tensor>& inputs);
  void run_native(TF_OpKernelContext* context, const std::string& reason, bool is_news, const Status& status);
  const NativeSession& session();
  /// Why the inputs are not of the node's shapes, empty where they are. Throws Error{invalid_argument} for
  /// one of another rank.
  std::string misfit(const std::vector<Tensor>& inputs) const;

  const std::uint64_t id_;
  const Node node_;
  std::shared_ptr<const std::string> graph_; ///< That of engine_graph(); null where `again_` makes it.
  const GraphAgain again_;
  const int threads_;
  const Settings settings_;

  std::once_flag built_, opened_;
  std::optional<tf::Model> model_;
  std::unique_ptr<NativeSession> session_;
  double build_seconds_ = 0;

  mutable std::mutex mutex_;
  std::vector<tf::Runner> idle_;
  std::string build_error_, session_error_, folder_;
  std::uint64_t runs_ = 0, native_runs_ = 0, runners_ = 0, native_bytes_ = 0;
  std::map<std::string, std::uint64_t> native_reasons_;
};

/// The entry of a node, shared by all kernels of equal nodes. `graph` is that of engine_graph(), `config`
/// TensorFlow's ConfigProto.
std::shared_ptr<EngineEntry> entry_of(const Node& node, std::string graph, GraphAgain again,
                                      std::string_view config);

/// Those of all engines, as a JSON array.
std::string all_statistics();

} // namespace lanner::tensorflow_ops
