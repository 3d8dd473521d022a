#pragma once
// TensorFlow models converted in whole or in part, as TF-TRT did: parts that can be converted become engines,
// the others stay native. See docs/tensorflow.md.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/engine.h>
#include <lanner/option_table.h>

namespace lanner::tf {

/// When engines are built: TF-TRT's `is_dynamic_op`.
enum class EngineMode : std::uint8_t {
  fixed,  ///< Static mode: one engine of each part, built by the conversion. Other shapes run natively.
  dynamic ///< Each engine when its shapes first run, or by Model::build. The conversion only divides.
};

/// Which shapes of a part's inputs an engine serves.
enum class EngineShapes : std::uint8_t {
  /// Those it was built for, and those whose first sizes are smaller.
  any,
  /// The same, where all inputs agree in their first size, the batch; others run natively.
  implicit_batch,
  /// Those within profiles, which Model::build makes by ProfileStrategy; others run natively. Without
  /// Model::build the first run's shapes are the only profile.
  profiles
};

/// How the shapes that Model::build is given become profiles; kernels are timed for `max`.
enum class ProfileStrategy : std::uint8_t {
  range,                    ///< One, from the smallest to the largest size of each dim.
  optimal,                  ///< One for each set of shapes, which it serves alone.
  range_optimal,            ///< Both; a set of shapes that was given uses its own.
  implicit_batch_compatible ///< One for each set of shapes, which serves smaller first sizes too.
};

/// TF-TRT's names: `Range`, `Optimal`, `Range+Optimal`, `ImplicitBatchModeCompatible`.
std::string_view to_string(ProfileStrategy strategy) noexcept;
/// In upper or lower case. Throws Error{invalid_argument} that lists the names.
ProfileStrategy parse_profile_strategy(std::string_view name);

/// Runs the SavedModel in a folder inside TensorFlow on each batch that `data` gives, once: for each the
/// results of its signature `calibration`, by name. Where it cannot, it throws.
using TensorFlowRun = std::function<std::vector<std::map<std::string, Item>>(
    const std::filesystem::path& folder, const CalibrationData& data, const Control& control)>;

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
  /// A node that nothing here can run is an error, so that the model runs without TensorFlow. False: it stays
  /// TensorFlow's in the saved model (Model::needs_tensorflow).
  bool stand_alone = false;
  /// For calibration data of a model that only TensorFlow can run (Model::needs_tensorflow). Unset: a child
  /// process, of the Python interpreter that exports Keras' files (lanner/keras.h).
  TensorFlowRun run_in_tensorflow;

  // The cache of engines by shapes that each engine part has. What is unset is as a loaded model's nodes say;
  // the defaults below are those of nodes and models that say nothing.
  /// Unset: where all sizes are known the conversion builds the engine, other shapes' engines are built when
  /// they first run. A static engine with calibration data becomes dynamic, with a warning.
  std::optional<EngineMode> mode;
  std::optional<EngineShapes> engine_shapes;       ///< Default: any; `profiles` where a strategy is given.
  std::optional<ProfileStrategy> profile_strategy; ///< Default: range.
  /// Engines of each part; the least recently used is evicted. Default: 16, as engines of one part share
  /// their weights (TF-TRT: 1). At least 1. Profiles do not count.
  std::optional<std::int32_t> maximum_cached_engines;
  /// Static mode: the batch of engines whose first size is open. Default: 1.
  std::optional<std::int32_t> max_batch_size;
  /// False: an engine is built by the conversion or Model::build only, and shapes without one run natively.
  /// Default: true.
  std::optional<bool> allow_build_at_runtime;
  /// False: where a part would run natively instead of by its engine, the run throws Error{unsupported} with
  /// the cause.
  bool native_fallback = true;
  /// Bytes that engines of the model and their contexts may hold: weights in the layouts of kernels, and
  /// scratch memory. The least recently used engines are evicted, and shapes whose engine does not fit alone
  /// run natively. Not counted: results, native runs, and what a build needs for its duration.
  std::optional<std::uint64_t> memory_limit;
};

/// The options of conversions besides those of builds, as rows (lanner/option_table.h).
const OptionTable<ConvertOptions>& convert_option_table();

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

/// Why a part that has engines ran natively.
enum class NativeCause : std::uint8_t {
  scalar_input,     ///< Implicit batch: an input has no first size.
  unequal_batch,    ///< Implicit batch: inputs differ in their first size.
  other_shapes,     ///< Static mode: the engine was built for others.
  open_sizes,       ///< Static mode: the conversion did not know the sizes, so there is no engine.
  outside_profiles, ///< No profile contains the shapes.
  not_built,        ///< No engine was built for the shapes, and none may be built at run time.
  build_failed,     ///< The build for these shapes failed before; it is not tried again.
  memory_limit      ///< The engine for these shapes does not fit within memory_limit.
};
inline constexpr std::size_t native_causes = 8;
std::string_view to_string(NativeCause cause) noexcept; ///< `outside_profiles`.

/// An engine of a part's cache.
struct CachedEngine {
  std::map<std::string, ShapeRange> shapes; ///< By input of the part: what it serves; `opt`: timed for.
  double build_seconds = 0;
  std::uint64_t bytes = 0; ///< Scratch memory of its contexts. Weights are shared by the engines of a part.
};

/// What a part's cache holds, and what it did since the model was made.
struct EngineCounters {
  std::string engine;
  std::vector<CachedEngine> cached; ///< The most recently used first.
  std::uint64_t maximum = 0;        ///< maximum_cached_engines.
  std::uint64_t built = 0;          ///< Engines built, by the conversion, Model::build and runs.
  std::uint64_t hits = 0;           ///< Runs by an engine that was there, or that another run was building.
  std::uint64_t evicted = 0;
  /// Runs that were native, by cause; causes that did not occur are left out.
  std::map<NativeCause, std::uint64_t> native;
  std::uint64_t weight_bytes = 0; ///< Memory that its engines hold together, besides their contexts'.
  std::string build_error;        ///< Of the last build that failed; empty: none did.
};

struct ModelAccess;
struct ModelState;
class Runner;

/// A converted model; immutable. Copies share it. Thread-safe.
class Model {
public:
  /// Converts the folder of a SavedModel, a frozen GraphDef, or a MetaGraph with its checkpoint. A node that
  /// cannot be converted costs itself only: it is native, with the reason. Where nothing here can run native
  /// nodes, the model is for TensorFlow (needs_tensorflow()). Throws Error where it cannot be read, and with
  /// ConvertOptions::stand_alone for such nodes: the message lists them.
  static Model convert(const std::filesystem::path& model, const ConvertOptions& options = {});
  /// The same from bytes; `folder` is where further files of the model are, empty: it has none.
  static Model convert(SourcePtr model, const ConvertOptions& options = {},
                       const std::filesystem::path& folder = {});
  /// Reads a model that save() or TF-TRT wrote. Engines of TensorRT are not read: each is built anew from its
  /// native segment. Throws Error{unsupported} that lists nodes that only TensorFlow can run.
  static Model load(const std::filesystem::path& folder, const ConvertOptions& options = {});
  /// The same from bytes; `folder` is where plans of the engines are, empty: there are none.
  static Model load(SourcePtr model, const ConvertOptions& options = {},
                    const std::filesystem::path& folder = {});

  /// Writes a SavedModel whose engines are TRTEngineOp nodes with their native segments. `engines`: also
  /// plans of the engines that were built and not evicted, as assets, which load() takes on the machine that
  /// they were built for.
  void save(const std::filesystem::path& folder, bool engines = true) const;

  const std::vector<Binding>& inputs() const;
  const std::vector<Binding>& outputs() const;
  const std::vector<ConvertedNode>& nodes() const;
  const std::vector<ConvertedPart>& parts() const; ///< In the order in which they run.
  /// Nodes that only TensorFlow can run, by operator, with the reason; empty: there are none, and the model
  /// runs here. A model that has some is saved and reported; to run it or build() it throws
  /// Error{unsupported}. Inside TensorFlow (lanner.tf.register() in Python) what was saved runs.
  std::string needs_tensorflow() const;
  /// Native nodes in TF-TRT's forms: a line that begins `There are 5 ops of 4 different types in the graph
  /// that are not converted to TensorRT`, and a table `OP Name|Reason|Count`.
  std::string native_line() const;
  std::string native_csv() const;
  /// Share of the nodes that are in engines; placeholders, constants, Identity and NoOp do not count.
  double share() const;
  /// The conversion as text: engines with their counters, and native nodes grouped by operator and reason.
  std::string summary() const;

  /// Runs the model on each of these inputs, and builds the engines for their shapes, each within the
  /// budget, so that later runs are fast; with EngineShapes::profiles, engines for the profiles of all.
  /// Engines that serve the shapes already are kept. A build that fails is counted and reported like one in
  /// a run. Throws Error{invalid_argument} in static mode.
  void build(std::span<const std::map<std::string, Item>> inputs, const Control& control = {}) const;
  void build(const std::map<std::string, Item>& inputs, const Control& control = {}) const;
  /// Of each engine part, in the order of parts(). Any thread may ask at any time.
  std::vector<EngineCounters> counters() const;
  Runner create_runner(int threads = 0) const;

private:
  explicit Model(std::shared_ptr<const ModelState> state) : state_(std::move(state)) {}
  friend class Runner;
  friend struct ModelAccess;
  std::shared_ptr<const ModelState> state_;
};

/// One caller's state to run a Model. Movable; used by one thread at a time. Runners of a model share its
/// engines: if two need the same new one, one builds it and the other waits.
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
