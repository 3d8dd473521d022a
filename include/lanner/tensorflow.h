#pragma once
// TensorFlow models converted in whole or in part, as TF-TRT did: parts that can be converted become engines,
// the others stay native. See docs/tensorflow.md.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lanner/engine.h>

namespace lanner::tf {

struct ConvertOptions {
  /// Of the engines: precision, calibration, device, threads, budget, limits; `shapes` by the model's inputs.
  /// Options that concern single inputs and outputs of an engine (images, states, aliases, storages) are not
  /// accepted.
  BuildOptions build;
  /// A part with fewer nodes stays native; Identity, Snapshot, StopGradient and constants do not count.
  int minimum_segment_size = 3;
  int maximum_engines = 20;                  ///< The largest parts; 0: no limit.
  std::vector<std::string> denied_nodes;     ///< Stay native, by name.
  std::vector<std::string> denied_operators; ///< Stay native, as `Softmax`.
};

/// A node of the model, functions inlined, and where it runs.
struct ConvertedNode {
  std::string name, op;
  std::string engine;       ///< Empty: native.
  std::string code, reason; ///< Why it is native: a short code, and a sentence.
};

/// An engine, or a group of native nodes that run together.
struct ConvertedPart {
  std::string name;
  bool engine = false;
  std::size_t nodes = 0;
  std::vector<Binding> inputs, outputs;
  double build_seconds = 0;
};

struct ModelState;
class Runner;

/// A converted model; immutable. Copies share it. Thread-safe.
class Model {
public:
  /// Converts the folder of a SavedModel, a frozen GraphDef, or a MetaGraph with its checkpoint. A node that
  /// cannot be converted costs itself only: it is native, with the reason. Throws Error where the model
  /// cannot be read, or where a native node has an operator that Lanner cannot run: the message lists them.
  static Model convert(const std::filesystem::path& model, const ConvertOptions& options = {});
  /// The same from bytes; `folder` is where further files of the model are, empty: it has none.
  static Model convert(SourcePtr model, const ConvertOptions& options = {},
                       const std::filesystem::path& folder = {});
  /// Reads a model that save() or TF-TRT wrote. Engines of TensorRT are not read: each is built anew from its
  /// native segment.
  static Model load(const std::filesystem::path& folder, const ConvertOptions& options = {});
  /// The same from bytes; `folder` is where plans of the engines are, empty: there are none.
  static Model load(SourcePtr model, const ConvertOptions& options = {},
                    const std::filesystem::path& folder = {});

  /// Writes a SavedModel whose engines are TRTEngineOp nodes with their native segments. `engines`: also
  /// plans of the engines, as assets, which load() takes on the machine that they were built for.
  void save(const std::filesystem::path& folder, bool engines = true) const;

  const std::vector<Binding>& inputs() const;
  const std::vector<Binding>& outputs() const;
  const std::vector<ConvertedNode>& nodes() const;
  const std::vector<ConvertedPart>& parts() const; ///< In the order in which they run.
  /// Share of the nodes that are in engines; placeholders, constants, Identity and NoOp do not count.
  double share() const;
  /// The conversion as text: engines, and native nodes grouped by operator and reason.
  std::string summary() const;

  /// Runs the model on these inputs' shapes once, and times kernels of its engines for them within the
  /// budget, so that later runs at these shapes are fast.
  void build(const std::map<std::string, Item>& inputs, const Control& control = {}) const;
  Runner create_runner(int threads = 0) const;

private:
  explicit Model(std::shared_ptr<const ModelState> state) : state_(std::move(state)) {}
  friend class Runner;
  std::shared_ptr<const ModelState> state_;
};

/// One caller's state to run a Model. Movable; used by one thread at a time.
class Runner {
public:
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  /// Outputs by name; the caller owns them.
  std::map<std::string, Item> operator()(const std::map<std::string, Item>& inputs,
                                         const Control& control = {});

private:
  friend class Model;
  struct State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace lanner::tf
