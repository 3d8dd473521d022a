#pragma once
// From a model to a timed plan to answers.

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

namespace lanner {

class Context;
struct EngineState;

/// Sizes that one input may have; kernels are timed for `opt`. INT64_MAX in `max`: that size has no bound.
struct ShapeRange {
  Shape min, opt, max;
  static ShapeRange fixed(const Shape& shape) { return {shape, shape, shape}; }
};

/// A model's input or output as its users see it.
struct Binding {
  std::string name;
  DType dtype = DType::f32;
  bool sequence = false; ///< A sequence or optional: has no dims.
  bool ranked = true;
  std::vector<std::int64_t> dims;     ///< -1 where the size is open.
  std::vector<std::string> dim_names; ///< Expression of each dim: `3`, `N`, `2*N`.
  /// How its tensors lie in memory, see BindingStorage: `row`, `acdb`, `f16 aBcd16b`, with their type where
  /// the model has another (`dtype` is theirs).
  std::string storage = "row";
  /// Of an input that takes pictures (BuildOptions::images): name of the pixel format, or `any`; else
  /// empty. Its first dim counts pictures; type and other dims are those of the engine's own records of them.
  std::string image;
  bool state = false;            ///< Takes part in BuildOptions::states: an input that need not be bound.
  bool overwritten = false;      ///< A run may write over the memory bound to this input.
  bool defaulted = false;        ///< An input that need not be bound: the model has a value for it.
  std::string to_string() const; ///< `input: f32[N, 3, 224, 224]`
};

/// How callers hold an input or output.
struct BindingStorage {
  /// Of its tensors, where that is not the model's own: f32, f64, f16 or bf16 for another of these. Values
  /// are converted by the run, to nearest even.
  std::optional<DType> dtype;
  /// As Layout has it: `row`, `acdb`, `aBcd16b`; or `any`: the build takes what costs least for the opt
  /// shapes, for all shapes, and Binding::storage tells it.
  std::string layout = "row";
  /// Bytes from one row of the last dim to the next, 0 where there are no gaps; for layout `row`, and rows of
  /// a size that the model fixes. Tensors then have that many bytes a row, and so has the engine's shape;
  /// what lies behind a row is not read, and is zeros in outputs.
  std::int64_t row_pitch = 0;

  /// `acdb`, `acdb:f16`, `row:u8:pitch=640`. Throws Error{invalid_argument, bad_data}.
  static BindingStorage parse(std::string_view text);
};

/// An input that is at a run what the output was after the run before.
struct StateNames {
  std::string input, output;
};

/// An output that is written into the memory bound to an input.
struct AliasNames {
  std::string output, input;
};

/// An input that starts with a picture.
struct ImageInputOptions {
  std::optional<PixelFormat> format; ///< The only one that it takes; unset: any.
  /// Type, and sizes that are 0, are the model's. Region and quarter turns may be others with each picture.
  Preprocess preprocess;
};

struct BuildOptions {
  /// Shapes by input name. An input that is not named keeps the model's own, and what that leaves open stays
  /// open. Kernels are chosen and timed by the build where the sizes of all inputs are known: by the model,
  /// by shapes, profiles or preprocessing; sizes of `states` alone are no matter. Else each new set of shapes
  /// gets its kernels at its first run, by estimates, or by Engine::prepare.
  std::map<std::string, ShapeRange> shapes;
  /// Ranges of shapes that the engine is made ready for, each by input name, at most 32; beside `shapes`,
  /// which says what the engine takes at all. The build tunes the opt shapes of each, within one budget;
  /// other shapes of a profile take over its kernels without timing, from the first profile that holds them.
  /// Shapes outside of all profiles run too, with the first one's kernels where they fit, and a warning is
  /// logged. An input that a profile does not name may have any sizes in it.
  std::vector<std::map<std::string, ShapeRange>> profiles;
  Precision precision; ///< Types that kernels may compute in.
  /// Seconds that timing and checking kernels may take at most; 0 chooses by estimates at once. Checking what
  /// is chosen unmeasured may take 2 s beyond it. Not counted is what a plan needs in any case: import, the
  /// first way of each of a library's kernels.
  double budget = 10;
  int threads = 0;   ///< Of contexts; 0 takes the machine's cores.
  SourcePtr weights; ///< A Caffe net's .caffemodel, where the model's own file (.prototxt) has layers only.
  Device device;
  DevicePlacement placement; ///< Devices beside it, and which nodes run where.
  /// Same input, same plan bytes: nothing is timed or tried out, and kernels are taken of a list that the
  /// project vouches for.
  bool deterministic = false;
  bool retune = false; ///< Time kernels again that earlier builds have timed.
  /// Shapes that are new to the engine are timed at their first run, which takes up to the budget. Not kept
  /// in plans. Throws Error{invalid_argument} where nothing may be timed: with a budget of 0, or
  /// `deterministic`.
  bool tune_at_run = false;
  std::optional<std::uint64_t> weight_budget; ///< As Engine::set_weight_budget.
  /// By input name; stored in the plan, used when an Image is bound. Sizes that are 0 are the input's where
  /// it has them, f32 is its type, and its channels tell the layout. For an input that is not named the
  /// model's own metadata is taken: `lanner.preprocess.NAME`, or `lanner.preprocess` for the only input that
  /// can be a picture, as JSON; else what its family is known by (lanner/known_preprocess.h).
  std::map<std::string, Preprocess> preprocess;
  /// What the engine says of itself beside and before the model's own words, like `lanner.task`; kept in the
  /// plan. Keys that begin with `lanner.preprocess.` are the engine's own.
  std::map<std::string, std::string> metadata;
  /// By input name: such an input takes images, not tensors. What the network reads of them is made by a node
  /// of the graph, on the engine's device, stored as the nodes behind it read it. Their sizes may change
  /// from image to image and from run to run: nothing is made anew. `shapes` are the model's own, profiles,
  /// prepare() and verify() give such an input the number of images as its shape: {4}.
  std::map<std::string, ImageInputOptions> images;
  /// Values that each context keeps from run to run: KV caches, recurrent state. The output's value after a
  /// run is the input's at the next one, without a copy. Type and rank must be equal; where the sizes change
  /// from run to run (a growing cache) the input has to take the output's shape, and the next run is of that
  /// shape. See Context::reset_states. What such an input or output is stored as holds for both.
  std::vector<StateNames> states;
  /// Outputs that lie in an input's memory after a run, of equal type and shape: written there at once where
  /// all that reads the input has run by then or kernels work in place, else copied at the end. The tensor
  /// bound to the input must have its storage exactly.
  std::vector<AliasNames> aliases;
  /// Inputs whose memory a run may write over once it has read them, so that it needs less of its own: they
  /// must be written or bound anew before each run. Of an input that is a state: it is updated where it lies,
  /// if kernels can; a run that fails then loses it.
  std::vector<std::string> overwritable;
  /// By name of an input or output, tensors of numbers all; others are row-major in the model's type.
  std::map<std::string, BindingStorage> storages;
  /// Names of the model's values, which are the engine's outputs, in this order, in place of the model's own;
  /// what none of them needs is left out. Empty: the model's. A node's name stands for its only output.
  std::vector<std::string> outputs;
  /// Initialisers that are graph inputs too, and that runs will give: they are inputs of the engine, whose
  /// value is the model's where none is bound. Others are constants, which the build folds and packs; see
  /// Engine::overridable.
  std::vector<std::string> overridden;
  std::string stop_after; ///< Name of a pass, or `import`; what follows is left out (for `--print-ir`).
  std::filesystem::path trace_passes; ///< Folder that gets the IR after each pass.
  std::filesystem::path timing_cache; ///< Empty: the user's cache folder.
  /// Told of each file that the model keeps data in beside its own, before it is read.
  std::function<void(const std::filesystem::path&)> on_data_file;
  Limits limits;           ///< Of the build, and of what the engine's contexts hold and take while they run.
  Environment environment; ///< The engine keeps it.
  Control control;
};

struct LoadOptions {
  /// Unset: the plan's own; another one tunes again, for it alone: what was placed on other GPUs runs there.
  std::optional<Device> device;
  int threads = 0; ///< 0 takes what the plan was built for, at most the machine's cores.
  /// For a plan that was saved without weights: the model, a safetensors file or a plan that has them.
  SourcePtr weights;
  std::filesystem::path weights_folder;       ///< Where a model given as weights keeps data beside it.
  std::optional<std::uint64_t> weight_budget; ///< As Engine::set_weight_budget.
  bool tune_at_run = false; ///< As BuildOptions::tune_at_run, within the budget of the plan's build.
  /// Each variant of the plan is tried as Engine::verify does, with one run in one context on random inputs,
  /// before load returns; Error{bad_data} where one computes something other than the plan's portable IR
  /// says. For plans of strangers: a plan's digest finds damage and is no signature, so that a kernel that is
  /// offered and fits may stand where the network has another. Takes as long as the network by its
  /// definitions does. Throws Error{unsupported} in liblanner-runtime.
  bool verify = false;
  Limits limits; ///< Of reading the plan, and of what the engine's contexts hold and take while they run.
  Environment environment; ///< With the operators that the plan needs; the engine keeps it.
  Control control;
};

struct ContextOptions {
  int threads = 0;      ///< Fixed for the context's life; 0 takes the engine's.
  bool profile = false; ///< Measure every step.
  /// An engine on a GPU leaves results there, wherever inputs were bound from: for those who read them there.
  bool keep_results = false;
};

/// Input shapes and a number of threads that kernels are chosen for.
struct Variant {
  /// By input name; others take the opt ones. Sizes that share a name with those of a named input follow it.
  std::map<std::string, Shape> shapes;
  int threads = 0; ///< 0 takes the engine's.
};

/// How Engine::verify tries a network.
struct VerifyOptions {
  std::map<std::string, Shape> shapes; ///< By input name; others as Engine::sample_shapes() has them.
  std::map<std::string, Item> inputs;  ///< Values by input name; others are drawn at random.
  std::uint64_t seed = 0;              ///< Of what is drawn.
  int runs = 10;                       ///< Of each node, and of the network in each context.
  int contexts = 2;                    ///< At work at once.
  int threads = 0;                     ///< Of each context; 0 takes the engine's.
  /// Gets the first node that differs as an ONNX model, NAME.inputs.safetensors what it read; empty: nothing.
  std::filesystem::path reproducer;
  Control control;
};

/// A node whose kernel does not give what the node's definition gives.
struct NodeDifference {
  std::string name; ///< Output's name in the lowered IR.
  std::string op, kernel, backend;
  std::vector<std::string> sources; ///< Source model's nodes.
  std::string reason;               ///< `element 17 is 3.5, expected 0.25; 12 of 4096 differ`
};

/// What Engine::verify found.
struct Verification {
  std::map<std::string, Shape> shapes; ///< What it ran at, by input name.
  std::size_t nodes = 0;               ///< Compared with their definition.
  std::size_t defined = 0;             ///< Not compared: views, and what runs by its definition.
  std::size_t skipped = 0;             ///< Not compared: random numbers without a seed, no memory for trials.
  std::vector<NodeDifference> differences; ///< In the order in which nodes run.
  /// Empty, or how outputs of the network as a whole differ: between runs, between contexts, or from what the
  /// portable IR (Engine::ir) gives by its operators' definitions.
  std::string network;
  /// Outputs that were not compared with the portable IR's: random numbers without a seed, and what rounding
  /// decides, so that inputs that differ in their last digits give other results too.
  std::vector<std::string> undecided;
  std::filesystem::path reproducer; ///< What was written; empty where nothing was.
  bool right() const { return differences.empty() && network.empty(); }
};

/// A tensor of the source model that constants of the engine are made of.
struct SourceWeight {
  std::string name; ///< ONNX's initializer, TensorFlow's constant, `layer/blob` of Caffe.
  DType dtype = DType::f32;
  Shape shape;
};

/// What a plan file holds.
struct SaveOptions {
  /// False leaves out everything that is made of source weights: who loads the plan gives them.
  bool weights = true;
  Control control; ///< Looked at every few megabytes. A file that was there stays as it was when it ends the
                   ///< call.
};

/// An immutable, shareable network ready to run. Copies refer to one engine. Thread-safe.
class Engine {
public:
  /// Imports, optimises and tunes a model. Throws Error whose message starts with `build <name>: `.
  static Engine build(SourcePtr model, const BuildOptions& options = {},
                      const std::filesystem::path& folder = {});
  static Engine build(const std::filesystem::path& model, const BuildOptions& options = {});
  /// Opens a plan. Every byte is validated; a plan made for another device or version is tuned again from its
  /// own IR.
  static Engine load(SourcePtr plan, const LoadOptions& options = {});
  static Engine load(const std::filesystem::path& plan, const LoadOptions& options = {});
  /// Writes a plan beside `path` and renames it: with the variants that were made ahead, by the build or by
  /// prepare. Within the engine's limit on seconds.
  void save(const std::filesystem::path& path, const SaveOptions& options = {}) const;

  const std::string& name() const;
  const std::vector<Binding>& inputs() const;
  const std::vector<Binding>& outputs() const;
  /// Initialisers that the model lists among its inputs, and that are constants of the engine: Context::bind
  /// takes values for them all the same, and the first run with one builds a second engine of the model in
  /// which it is an input, within the build's options; BuildOptions::overridden does that at once. Empty for
  /// a plan, which does not have the model, and where the model came of a source that cannot be read again.
  const std::vector<Binding>& overridable() const;
  int threads() const;
  Device device() const;                                      ///< Where inputs and outputs are.
  const std::map<std::string, std::string>& metadata() const; ///< What the model says of itself.
  std::optional<Preprocess> preprocess(std::string_view input) const;

  /// The source weights that may be given other values, by name. Left out are those that the build folded
  /// away, or whose values decided what is computed, and integers of at most 64 elements, which sizes may
  /// follow from.
  std::vector<SourceWeight> weights() const;
  /// An engine with other values of these source weights, host tensors of the same type and shape; others
  /// keep theirs. Kernels and shapes stay, nothing is timed, contexts of this engine are not touched. Throws
  /// Error{not_found} for a name that is none of weights(), and Error{invalid_argument} for a wrong type or
  /// shape and where a weight was made one constant with another, which has to be given too: the message says
  /// which.
  Engine refit(const std::map<std::string, Tensor>& weights) const;

  /// Bytes of weights on the engine's GPU that a budget may keep from it, once for all variants and contexts:
  /// those of 64 KiB and more whose kernels take them by pointer. 0 on a CPU.
  std::uint64_t streamable_weights() const;
  /// The least that set_weight_budget() takes: what may not be streamed, and room for the step that reads
  /// most. All that the weights take where nothing may be streamed.
  std::uint64_t min_weight_budget() const;
  std::optional<std::uint64_t> weight_budget() const; ///< Unset: all weights are on the GPU.
  /// Bytes of the GPU that weights may take: those that stay there and the memory through which one context
  /// streams the others, from pinned memory of the host while earlier steps run; each further context takes
  /// that memory again. Contexts take it up at their next run, and until then hold what they had. Copies of
  /// this engine have one budget, engines made by refit() theirs, which begins as this one's; no plan has
  /// one. Throws Error{unsupported} on a CPU, Error{invalid_argument} below min_weight_budget(), and
  /// Error{out_of_memory} where host or GPU lack memory: the budget stays what it was.
  void set_weight_budget(std::optional<std::uint64_t> bytes) const;

  Context create_context(const ContextOptions& options = {}) const;
  /// Makes the variant for these input shapes ahead of its first run, as several are made.
  void prepare(const std::map<std::string, Shape>& shapes, int threads = 0) const;
  /// Tunes these variants one after the other, together within the build's budget, while contexts go on
  /// running; contexts take them up at their next run, and plans keep them. What was tuned already stays. Of
  /// variants that belong to no profile the engine keeps the 64 that were used last. After an error those
  /// made so far stay.
  void prepare(const std::vector<Variant>& variants, const Control& control = {}) const;
  /// Whether sizes are open that the build was not told, so that it chose no kernels.
  bool open_sizes() const;
  /// Shapes of all inputs but sequences to try the engine at: those of `given`, opt ones, and where sizes are
  /// open small ones that the model takes: 1 in a batch, 224 in the height and width of a picture where that
  /// fits, 0 in a state, else the smallest that are found. `batch`, if not 0, for first dims that are open,
  /// in place of opt ones. Throws Error{invalid_argument} for a wrong name, and where none are found.
  std::map<std::string, Shape> sample_shapes(const std::map<std::string, Shape>& given = {},
                                             std::int64_t batch = 0) const;

  /// Runs every node of the network as lowered for these shapes on what the interpreter gives it, and
  /// compares the results with the interpreter's within the rounding of the types; then the whole network in
  /// several contexts at once, whose outputs are compared with those of the portable IR. Wrong results are
  /// told of, not thrown.
  Verification verify(const VerifyOptions& options = {}) const;

  /// Canonical IR (portable), and the lowered IR as text: of the opt shapes, those of the first profile;
  /// where sizes are open of the first shapes that were prepared, else of sample_shapes().
  std::string ir() const;
  std::string lowered_ir() const;
  /// Nodes of the canonical graph, for pictures of it, as JSON: `{"name", "nodes": [{"name", "op", "sources",
  /// "inputs": [names], "outputs": [{"name", "type"}]}]}`; constants are left out, names are values'.
  std::string graph_json() const;
  /// What was decided for each node and why, as JSON, for the same shapes; see docs/explain.md for its
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
  std::uint64_t bytes = 0;          ///< Read and written by one run, inputs, outputs and weights.
  std::uint64_t flops = 0;          ///< Multiply-adds counted twice; 0 where not known.
  std::uint64_t runs = 0;
  double seconds = 0;
};

/// What one run works with in place of what the engine's environment says; null: that.
struct RunResources {
  /// Runs its loops: see lanner/threads.h.
  const Executor* executor = nullptr;
  /// Gives the memory of what the run gives out, and of values whose size the run alone tells; scratch memory
  /// that stays with the context is the environment's. Such results are new ones each time. The context holds
  /// them until its next run or unbind(). See lanner/allocator.h.
  const lanner_allocator* allocator = nullptr;
};

/// One caller's state to run an Engine: arena, bindings, threads. Movable; used by one thread at a time.
/// Keeps its engine. What the 8 shapes that it ran last need stays ready, recorded graphs included, as far as
/// their results and copies take no more than 256 MiB and an eighth of Limits::total_bytes; the arena is
/// shared.
class Context {
public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Binds an input. A tensor that lies as Binding::storage says (row-major where nothing was asked for) on
  /// the engine's device is used in place and shared until the next bind; its padding must hold zeros. Others
  /// are copied, by an engine on a GPU when it runs, each time. Type must match and shape fit the profile,
  /// else Error{invalid_argument} with expected and got. A state's input need not be bound; a tensor bound to
  /// it is copied and is its value for the next run only. An initialiser of Engine::overridable() keeps what
  /// is bound to it until unbind().
  void bind(std::string_view input, Item value);
  /// Images for the network; several make a batch. For an input of BuildOptions::images they are used in
  /// place, on the host or the engine's device, and shared until the next bind; they are read by the run (on
  /// a GPU those of the host go up then), and `spec` may differ from the engine's by region and turns. For
  /// others they are preprocessed now as the engine's plan (or `spec`) says; an input of rank 2 takes each as
  /// a row, one of rank 3 has no batch and takes a single one.
  void bind(std::string_view input, std::span<const Image> images, const Preprocess* spec = nullptr);
  /// Gives an output memory of the caller's, which lies as Binding::storage says, on the host or the engine's
  /// device; dropped when undefined. Type and shape must be those of the result, else the run throws
  /// Error{invalid_argument}. Not for the output of a state or of an alias, whose memory is settled.
  void bind_output(std::string_view output, Tensor memory);
  /// Lets go of every input and of outputs' memory: all inputs must be bound again before the next run, and
  /// output() gives results only where this context made their memory. States stay.
  void unbind() noexcept;

  /// The next run begins anew: states are zeros of the smallest shape that the input takes. Dims that share a
  /// name with those of other inputs follow these; open dims for which no range was given are 0.
  void reset_states() noexcept;
  /// What the next run will read as this state, given by its input's name: a row-major copy on the host;
  /// nothing (an undefined tensor) where no run was since the state was new and nothing was bound. Waits for
  /// the device.
  Item state(std::string_view input) const;

  /// Runs to completion (`run`) or queues on the stream (`enqueue`; on the CPU both return when done). On a
  /// GPU a null stream is CUDA's legacy default stream. After `enqueue` tensors that take part must live, and
  /// results on the host may be read, only once the stream has been synchronised.
  /// `control` is looked at between steps, and within loops of the model where nodes run by their definition:
  /// a run may then end in Error{cancelled}, after which the context can run again.
  /// What `resources` name has to last as long as the call, and an allocator until all of its memory is back.
  void run(Stream stream = {}, const Control& control = {}, const RunResources& resources = {});
  void enqueue(Stream stream, const Control& control = {}, const RunResources& resources = {});
  /// An output of the last run. Its memory is reused by the next run unless somebody still holds it. An
  /// engine on a GPU leaves results there where an input was bound from there, memory there was bound for
  /// them, or ContextOptions::keep_results says so; else they come to the host. The output of a state stays
  /// on the device, is the memory that the next run reads, and must not be written.
  Item output(std::string_view name) const;

  /// bind, run and output in one: results are the caller's to keep.
  std::map<std::string, Item> operator()(const std::map<std::string, Item>& inputs,
                                         const Control& control = {});

  int threads() const;
  std::uint64_t arena_bytes() const; ///< Bytes of scratch memory that the shapes of the last run need.
  /// In step order, of the shapes of the last run, since they changed; empty unless profiling was asked for.
  std::vector<StepProfile> profile() const;

private:
  friend class Engine;
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace lanner
