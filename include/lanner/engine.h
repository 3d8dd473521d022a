#pragma once
// Builds, saves, loads and runs networks.

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

#include <lanner/calibration.h>
#include <lanner/cancel.h>
#include <lanner/device.h>
#include <lanner/environment.h>
#include <lanner/item.h>
#include <lanner/limits.h>
#include <lanner/placement.h>
#include <lanner/precision.h>
#include <lanner/preprocess.h>
#include <lanner/source.h>
#include <lanner/tensor.h>
#include <lanner/tensorflow_options.h>

namespace lanner {

class Context;
struct EngineState;

/// Shapes that one input may have; kernels are timed for `opt`. A size of INT64_MAX in `max` means no upper
/// bound.
struct ShapeRange {
  Shape min, opt, max;
  static ShapeRange fixed(const Shape& shape) { return {shape, shape, shape}; }
};

/// An input or output of an engine.
struct Binding {
  std::string name;
  DType dtype = DType::f32;
  bool sequence = false; ///< A sequence or optional: has no dims.
  bool ranked = true;
  std::vector<std::int64_t> dims;     ///< -1 where the size is open.
  std::vector<std::string> dim_names; ///< Expression of each dim: `3`, `N`, `2*N`.
  /// How its tensors are stored in memory, see BindingStorage: `row`, `acdb`, `f16 aBcd16b`. The type is
  /// named only if it differs from the model's; `dtype` is always the type of the tensors.
  std::string storage = "row";
  /// For an input that takes images (BuildOptions::images): name of the pixel format, or `any`; else empty.
  /// Its first dim is the number of images; its type and other dims describe internal records, of no use to
  /// callers.
  std::string image;
  bool state = false;            ///< Part of BuildOptions::states: an input that need not be bound.
  bool overwritten = false;      ///< A run may write over the memory bound to this input.
  bool defaulted = false;        ///< An input that need not be bound: the model has a default for it.
  std::string to_string() const; ///< `input: f32[N, 3, 224, 224]`
};

/// The storage of an input or output on the caller's side.
struct BindingStorage {
  /// Type of its tensors, unset: the model's. f32, f64, f16 and bf16 may replace each other; the run converts
  /// values, rounding to nearest even.
  std::optional<DType> dtype;
  /// As in Layout: `row`, `acdb`, `aBcd16b`; or `any`: the build uses the cheapest for the opt shapes, for
  /// all shapes, and Binding::storage reports it.
  std::string layout = "row";
  /// Bytes from the start of one row of the last dim to the next; 0: rows follow each other without padding.
  /// For layout `row` and rows whose size the model fixes. The shapes of tensors, and of the engine's
  /// binding, then include the padding; it is not read in inputs, and is zero in outputs.
  std::int64_t row_pitch = 0;

  /// `acdb`, `acdb:f16`, `row:u8:pitch=640`. Throws Error{invalid_argument, bad_data}.
  static BindingStorage parse(std::string_view text);
};

/// An input whose value at a run is the output's value after the previous run.
struct StateNames {
  std::string input, output;
};

/// An output that is written into the memory bound to an input.
struct AliasNames {
  std::string output, input;
};

/// An input that takes images.
struct ImageInputOptions {
  std::optional<PixelFormat> format; ///< The only accepted format; unset: any.
  /// Sizes of 0, and the type, are the model's. Region and quarter turns may differ from image to image.
  Preprocess preprocess;
};

struct BuildOptions {
  /// Shapes by input name. Inputs without an entry keep the model's shape, whose open sizes stay open. The
  /// build chooses and times kernels if the sizes of all inputs but `states` are known: from the model,
  /// `shapes`, `profiles` or preprocessing. Otherwise each new set of shapes gets its kernels from
  /// Engine::prepare, or at its first run by estimates.
  std::map<std::string, ShapeRange> shapes;
  /// Ranges of shapes to prepare the engine for, each by input name, at most 32; in addition to `shapes`,
  /// which says what the engine accepts at all. The build tunes the opt shapes of each, within one budget;
  /// other shapes of a profile reuse its kernels without timing, from the first profile that contains them.
  /// Shapes outside of all profiles run too, with the first one's kernels where they fit, and a warning is
  /// logged. An input without an entry in a profile may have any sizes.
  std::vector<std::map<std::string, ShapeRange>> profiles;
  Precision precision; ///< Types that kernels may compute in.
  /// For precision i8: ranges, or data to find them. The plan's metadata `lanner.calibration` is the table
  /// of the model's ranges, `lanner.int8` what was decided for each node, as JSON. Throws
  /// Error{invalid_argument} for a model without quantize_linear nodes where neither data nor ranges are
  /// given.
  Calibration calibration;
  /// The most seconds that timing and checking kernels may take; 0: kernels are chosen by estimates, without
  /// timing. Checks of the chosen kernels may take 2 s more. Work that every plan needs
  /// does not count: the import, and compiling the first variant of each library kernel.
  double budget = 10;
  int threads = 0;   ///< Threads of contexts; 0: the machine's cores.
  SourcePtr weights; ///< The .caffemodel of a Caffe net whose model file (.prototxt) has layers only.
  Device device;
  DevicePlacement placement; ///< Further devices, and which nodes run where.
  /// Same input, same plan bytes: nothing is timed or tried out, and only kernels on the project's list of
  /// trusted kernels are used.
  bool deterministic = false;
  bool retune = false; ///< Time kernels again that earlier builds have timed.
  /// Time kernels for new shapes at their first run, which takes up to the budget. Not stored in plans.
  /// Throws Error{invalid_argument} where nothing may be timed: with a budget of 0, or `deterministic`.
  bool tune_at_run = false;
  std::optional<std::uint64_t> weight_budget; ///< As Engine::set_weight_budget.
  /// By input name; stored in the plan, used when an Image is bound. What is left at its default follows the
  /// input: a size of 0 is the input's size if that is fixed, dtype f32 its type, and its channel dim decides
  /// the layout. Without an entry the model's own metadata is used: `lanner.preprocess.NAME`, or
  /// `lanner.preprocess` for the only input that can be an image, as JSON; else the preprocessing of a known
  /// model family (lanner/known_preprocess.h).
  std::map<std::string, Preprocess> preprocess;
  /// Metadata of the engine, added to the model's own and overriding it, like `lanner.task`; stored in the
  /// plan. Keys that begin with `lanner.preprocess.` are reserved for the engine.
  std::map<std::string, std::string> metadata;
  /// By input name: such an input takes images, not tensors. A node of the graph preprocesses them, on the
  /// engine's device, into the storage that the next nodes read. Their sizes may change from image to image
  /// and from run to run without preparing anything again. In `shapes` such an input has the model's shape;
  /// in profiles, prepare() and verify() its shape is the number of images: {4}.
  std::map<std::string, ImageInputOptions> images;
  /// Values that each context keeps from run to run: KV caches, recurrent state. The output's value after a
  /// run is the input's at the next one, without a copy. Type and rank must be equal. If the sizes change
  /// from run to run (a growing cache), the input must accept the output's shape, which is its shape in the
  /// next run. A storage given for one of the two applies to both. See Context::reset_states.
  std::vector<StateNames> states;
  /// Outputs that are written into the memory of an input of equal type and shape: directly, if everything
  /// that reads the input has run by then or the kernel works in place, else by a copy at the end of the run.
  /// The tensor bound to the input must have exactly the input's storage.
  std::vector<AliasNames> aliases;
  /// Inputs whose memory a run may overwrite once it has read them, which saves memory: they must be written
  /// or bound again before each run. A state listed here is updated in place, if its kernels can do that; a
  /// run that fails then loses its value, and the next run changes its output even while that is referenced.
  std::vector<std::string> overwritable;
  /// Storages by name of an input or output that is a tensor of numbers; others are row-major in the model's
  /// type.
  std::map<std::string, BindingStorage> storages;
  /// Names of values of the model to use as the engine's outputs, in this order, instead of the model's
  /// outputs; nodes that none of them needs are dropped. Empty: the model's outputs. The name of a node with
  /// one output means that output.
  std::vector<std::string> outputs;
  TensorFlowOptions tensorflow;
  /// Initialisers, listed by the model among its inputs, that runs will set: they become inputs of the
  /// engine, with the model's value as default. Other initialisers are constants, which the build folds and
  /// packs; see Engine::overridable.
  std::vector<std::string> overridden;
  std::string stop_after; ///< Name of a pass, or `import`; later passes are skipped (for `--print-ir`).
  std::filesystem::path trace_passes; ///< Folder to write the IR after each pass to.
  std::filesystem::path timing_cache; ///< Empty: the user's cache folder.
  /// Called with the path of each external data file of the model, before it is read.
  std::function<void(const std::filesystem::path&)> on_data_file;
  Limits limits;           ///< For the build, and for memory and time of the engine's contexts.
  Environment environment; ///< The engine keeps it.
  Control control;
};

struct LoadOptions {
  /// Unset: the plan's device. For another device the plan is tuned again, and all nodes run on it, those
  /// placed on other GPUs too.
  std::optional<Device> device;
  int threads = 0; ///< 0: the number that the plan was built for, at most the machine's cores.
  /// For a plan that was saved without weights: the model, a safetensors file or a plan that has them.
  SourcePtr weights;
  std::filesystem::path weights_folder; ///< For a model given as `weights`: the folder of its data files.
  std::optional<std::uint64_t> weight_budget; ///< As Engine::set_weight_budget.
  bool tune_at_run = false; ///< As BuildOptions::tune_at_run, within the budget of the plan's build.
  /// Checks each variant of the plan as Engine::verify does, with one run in one context on random inputs,
  /// before load returns; Error{bad_data} if the results of one differ from those of the plan's portable IR.
  /// For untrusted plans: a plan's digest detects damage and is not a signature, so a plan may name a valid
  /// kernel that does not match the network. Takes as long as running the network by its operators'
  /// definitions. Throws Error{unsupported} in liblanner-runtime.
  bool verify = false;
  Limits limits;           ///< For reading the plan, and for memory and time of the engine's contexts.
  Environment environment; ///< With the custom operators of the plan; the engine keeps it.
  Control control;
};

struct ContextOptions {
  int threads = 0;      ///< Fixed for the context's life; 0: the engine's.
  bool profile = false; ///< Measure the time of every step.
  /// Leave results on the engine's GPU, for callers that read them there, whether inputs were bound from the
  /// host or the GPU.
  bool keep_results = false;
};

/// Input shapes and a number of threads that kernels are chosen for.
struct Variant {
  /// By input name; other inputs have their opt shapes, but dims with the same symbol as a dim of a named
  /// input take its size.
  std::map<std::string, Shape> shapes;
  int threads = 0; ///< 0: the engine's.
};

/// Options of Engine::verify.
struct VerifyOptions {
  /// By input name; other inputs have the shapes of Engine::sample_shapes().
  std::map<std::string, Shape> shapes;
  std::map<std::string, Item> inputs; ///< Values by input name; others are random.
  std::uint64_t seed = 0;             ///< Seed of random inputs.
  int runs = 10;                      ///< Runs of each node, and of the network in each context.
  int contexts = 2;                   ///< Contexts that run concurrently.
  int threads = 0;                    ///< Threads of each context; 0: the engine's.
  /// File for the first node that differs, as an ONNX model, with its inputs in NAME.inputs.safetensors;
  /// empty: none.
  std::filesystem::path reproducer;
  Control control;
};

/// A node whose kernel differs from the node's definition.
struct NodeDifference {
  std::string name; ///< Output's name in the lowered IR.
  std::string op, kernel, backend;
  std::vector<std::string> sources; ///< Source model's nodes.
  std::string reason;               ///< `element 17 is 3.5, expected 0.25; 12 of 4096 differ`
};

/// Result of Engine::verify.
struct Verification {
  std::map<std::string, Shape> shapes; ///< Shapes used, by input name.
  std::size_t nodes = 0;               ///< Nodes compared with their definition.
  std::size_t defined = 0;             ///< Nodes not compared: views, and nodes that run by their definition.
  std::size_t skipped = 0; ///< Nodes not compared: random numbers without a seed, or no memory for trials.
  std::vector<NodeDifference> differences; ///< In the order in which nodes run.
  /// How outputs of the whole network differ: between runs, between contexts, or from the results of the
  /// portable IR (Engine::ir) by its operators' definitions. Empty: they do not.
  std::string network;
  /// Outputs that could not be compared with the portable IR's: random numbers without a seed, and results so
  /// sensitive to rounding that a change in the last digits of an input changes them.
  std::vector<std::string> undecided;
  std::filesystem::path reproducer; ///< The file written; empty where none was.
  bool right() const { return differences.empty() && network.empty(); }
};

/// A tensor of the source model that constants of the engine are computed from.
struct SourceWeight {
  std::string name; ///< Name of ONNX's initializer or TensorFlow's constant, or Caffe's `layer/blob`.
  DType dtype = DType::f32;
  Shape shape;
};

/// What to store in a plan file.
struct SaveOptions {
  /// False leaves out everything computed from source weights: the loader of the plan must supply them.
  bool weights = true;
  Control control; ///< Checked every few megabytes. If the call ends early, an existing file stays unchanged.
};

/// The ranges that a build with precision i8 and these options would use, found by running `model` in FP32 on
/// `options.calibration.data`. Throws Error{invalid_argument} without data.
CalibrationTable calibrate(SourcePtr model, const BuildOptions& options,
                           const std::filesystem::path& folder = {});

/// An immutable, shareable network that is ready to run. Copies share one engine. Thread-safe.
class Engine {
public:
  /// Imports, optimises and tunes a model. Throws Error whose message starts with `build <name>: `.
  static Engine build(SourcePtr model, const BuildOptions& options = {},
                      const std::filesystem::path& folder = {});
  static Engine build(const std::filesystem::path& model, const BuildOptions& options = {});
  /// Opens a plan. Every byte is validated; a plan made for another device or version is tuned again from the
  /// portable IR in it.
  static Engine load(SourcePtr plan, const LoadOptions& options = {});
  static Engine load(const std::filesystem::path& plan, const LoadOptions& options = {});
  /// Writes a plan to a temporary file and renames it to `path`: with the variants that the build or
  /// prepare() made. The engine's limit on seconds applies.
  void save(const std::filesystem::path& path, const SaveOptions& options = {}) const;

  const std::string& name() const;
  const std::vector<Binding>& inputs() const;
  const std::vector<Binding>& outputs() const;
  /// Initialisers that the model lists among its inputs and that are constants of the engine. Context::bind
  /// accepts values for them: the first run with one builds a second engine, with the options of the build,
  /// in which it is an input. BuildOptions::overridden makes it an input from the start. Empty for a plan,
  /// which does not contain the model, and if the model's source cannot be read again.
  const std::vector<Binding>& overridable() const;
  int threads() const;
  Device device() const;                                      ///< The device of inputs and outputs.
  const std::map<std::string, std::string>& metadata() const; ///< The model's own metadata.
  std::optional<Preprocess> preprocess(std::string_view input) const;

  /// The source weights that refit() accepts, by name. Not included: weights that the build folded away or
  /// whose values decided what is computed, and integer tensors of at most 64 elements, on which sizes may
  /// depend.
  std::vector<SourceWeight> weights() const;
  /// A new engine with other values for these source weights, given as host tensors of the same type and
  /// shape; the other weights keep their values. Kernels and shapes stay the same, nothing is timed, and
  /// contexts of this engine are not affected. Throws Error{not_found} for a name that is not among
  /// weights(), and Error{invalid_argument} for a wrong type or shape, or if a weight was merged with another
  /// one that must be given too: the message names it.
  Engine refit(const std::map<std::string, Tensor>& weights) const;

  /// Bytes of weights that a weight budget can stream to the GPU instead of keeping them there, counted once
  /// for all variants and contexts: weights of at least 64 KiB that kernels read through a pointer. 0 on a
  /// CPU.
  std::uint64_t streamable_weights() const;
  /// The least that set_weight_budget() accepts: the weights that cannot be streamed, and memory for the step
  /// that reads most of the others. If none can be streamed, the size of all weights.
  std::uint64_t min_weight_budget() const;
  std::optional<std::uint64_t> weight_budget() const; ///< Unset: all weights are on the GPU.
  /// Bytes of GPU memory for weights: for those that stay there, and for the buffer through which one context
  /// streams the others from pinned host memory while earlier steps run; each further context needs another
  /// such buffer. Contexts apply a new budget at their next run. Copies of this engine share one budget; an
  /// engine made by refit() has its own, at first equal to this one's; plans store none. Throws
  /// Error{unsupported} on a CPU, Error{invalid_argument} below min_weight_budget(), and Error{out_of_memory}
  /// if the host or the GPU lacks memory; the budget is then unchanged.
  void set_weight_budget(std::optional<std::uint64_t> bytes) const;

  Context create_context(const ContextOptions& options = {}) const;
  /// Makes the variant for these input shapes before its first run; see the overload for several.
  void prepare(const std::map<std::string, Shape>& shapes, int threads = 0) const;
  /// Tunes these variants one after another, together within the build's budget, while contexts keep running;
  /// contexts use them from their next run on, and plans store them. Variants that are already tuned are not
  /// tuned again. Of variants outside of all profiles the engine keeps the 64 last used. After an error the
  /// variants made so far are kept.
  void prepare(const std::vector<Variant>& variants, const Control& control = {}) const;
  /// Whether the build chose no kernels, because it was given no value for some open sizes.
  bool open_sizes() const;
  /// Shapes of all inputs except sequences, for trying the engine: from `given`, else the opt shapes, with
  /// small values that the model accepts for open sizes: 1 for a batch, 224 for the height and width of an
  /// image if that fits, 0 for a state, else the smallest found. `batch`, if not 0, replaces the opt value of
  /// open first dims. Throws Error{invalid_argument} for a wrong name, and if no shapes are found.
  std::map<std::string, Shape> sample_shapes(const std::map<std::string, Shape>& given = {},
                                             std::int64_t batch = 0) const;

  /// Runs each node of the network lowered for these shapes on the inputs that the interpreter computed for
  /// it, and compares its results with the interpreter's, within the rounding of the types. Then runs the
  /// whole network in several contexts at once, and compares their outputs with those of the portable IR.
  /// Wrong results are reported, not thrown.
  Verification verify(const VerifyOptions& options = {}) const;

  /// The canonical IR (portable) and the lowered IR as text, for the opt shapes (those of the first profile);
  /// if sizes are open, for the first shapes that were prepared, else for sample_shapes().
  std::string ir() const;
  std::string lowered_ir() const;
  /// Nodes of the canonical graph, for drawing it, as JSON: `{"name", "nodes": [{"name", "op", "sources",
  /// "inputs": [names], "outputs": [{"name", "type"}]}]}`; constants are left out, names are those of values.
  std::string graph_json() const;
  /// The decision for each node and its reason, as JSON, for the same shapes; see docs/explain.md for its
  /// fields.
  std::string explain_json() const;

private:
  explicit Engine(std::shared_ptr<const EngineState> state) : state_(std::move(state)) {}
  friend const EngineState& state_of(const Engine& engine);
  friend Engine engine_of(std::shared_ptr<const EngineState> state);
  std::shared_ptr<const EngineState> state_;
};

/// Time of one step, summed over the profiled runs.
struct StepProfile {
  std::string name; ///< Output's name in the lowered IR.
  std::string op, kernel, backend;
  std::vector<std::string> sources; ///< Source model's nodes.
  std::uint64_t bytes = 0;          ///< Bytes read and written by one run: inputs, outputs and weights.
  std::uint64_t flops = 0;          ///< A multiply-add counts as two; 0 where unknown.
  std::uint64_t runs = 0;
  double seconds = 0;
};

/// Resources of one run that replace those of the engine's environment; null: the environment's.
struct RunResources {
  /// Runs the loops: see lanner/threads.h.
  const Executor* executor = nullptr;
  /// Allocates the results of the run, anew in each run, and values of data-dependent size; the context's
  /// scratch memory comes from the environment's allocator. The context holds the results until its next run
  /// or unbind(). See lanner/allocator.h.
  const lanner_allocator* allocator = nullptr;
};

/// One caller's state to run an Engine: arena, bindings, threads. Movable; used by one thread at a time.
/// Keeps its engine alive. The programs of the 8 last used shapes are kept, with their recorded CUDA graphs,
/// as long as their results and copies take at most 256 MiB and an eighth of Limits::total_bytes; they share
/// the arena.
class Context {
public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Binds an input. A tensor stored as Binding::storage says (row-major by default) on the engine's device
  /// is used in place and shared until the next bind; its padding must be zeros. Host tensors with another
  /// layout are copied by this call, and an engine on a GPU uploads host memory at each run. Throws
  /// Error{unsupported} for a tensor on another GPU, or on this one with another layout. Type must match and
  /// shape fit the profile, else Error{invalid_argument} with expected and got. A state's input need not be
  /// bound; a tensor bound to it is copied and is its value for the next run only. An initialiser of
  /// Engine::overridable() keeps what is bound to it until unbind().
  void bind(std::string_view input, Item value);
  /// Images for the network; several make a batch. For an input of BuildOptions::images they are used in
  /// place, on the host or the engine's device, and shared until the next bind; the run reads them (on a GPU
  /// it uploads those of the host), and `spec` may differ from the engine's in region and quarter turns. For
  /// other inputs they are preprocessed now with the engine's preprocessing (or `spec`); an input of rank 2
  /// takes each as a row, one of rank 3 has no batch and takes a single one.
  void bind(std::string_view input, std::span<const Image> images, const Preprocess* spec = nullptr);
  /// Provides the caller's memory for an output, stored as Binding::storage says, on the host or the engine's
  /// device; dropped when undefined. Type and shape must be those of the result, else the run throws
  /// Error{invalid_argument}. Not for the output of a state or of an alias, whose memory is already
  /// determined.
  void bind_output(std::string_view output, Tensor memory);
  /// Releases all inputs and the memory bound for outputs: inputs must be bound again before the next run,
  /// and output() then returns only results whose memory this context allocated. States are kept.
  void unbind() noexcept;

  /// Resets states: at the next run they are zeros of the smallest shape that the input accepts. Dims with
  /// the same symbol as a dim of another input take its size; open dims without a range are 0.
  void reset_states() noexcept;
  /// The value of a state at the next run, by the name of its input: a row-major copy on the host; an
  /// undefined tensor if no run or bind has set it since the context was made or its states were reset. Waits
  /// for the device.
  Item state(std::string_view input) const;

  /// Runs to completion (`run`) or queues on the stream (`enqueue`; on the CPU both return when done). On a
  /// GPU a null stream is CUDA's legacy default stream. After `enqueue`, tensors involved must live until the
  /// stream has been synchronised, and results on the host may be read only then.
  /// `control` is checked between steps, and within loops of the model where nodes run by their definition:
  /// a run may then end in Error{cancelled}, after which the context can run again.
  /// `resources` must stay valid during the call, and an allocator until all of its memory is released.
  void run(Stream stream = {}, const Control& control = {}, const RunResources& resources = {});
  void enqueue(Stream stream, const Control& control = {}, const RunResources& resources = {});
  /// An output of the last run. Its memory is reused by the next run unless it is still referenced. An engine
  /// on a GPU leaves results there if an input was bound from GPU memory, if GPU memory was bound for them,
  /// or with ContextOptions::keep_results; else they are copied to the host. The output of a state stays on
  /// the device, is the memory that the next run reads, and must not be written.
  Item output(std::string_view name) const;

  /// bind, run and output in one: the caller owns the results.
  std::map<std::string, Item> operator()(const std::map<std::string, Item>& inputs,
                                         const Control& control = {});

  int threads() const;
  std::uint64_t arena_bytes() const; ///< Bytes of scratch memory for the shapes of the last run.
  /// In step order, for the shapes of the last run, accumulated since they changed; empty without profiling.
  std::vector<StepProfile> profile() const;

private:
  friend class Engine;
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace lanner
