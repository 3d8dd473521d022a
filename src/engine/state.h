#pragma once
// What an Engine shares among its copies and contexts.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lanner/engine.h>

#include "base/limits/account.h"
#include "base/options.h"
#include "device/team.h"
#include "engine/context/given_shapes.h"
#include "engine/context/kept_states.h"
#include "engine/environment_state.h"
#include "engine/initialisers.h"
#include "engine/profiles.h"
#include "engine/variants.h"
#include "graph/backend.h"
#include "graph/graph.h"
#include "program/memory/caller_memory.h"
#include "program/weights/weights.h"

namespace lanner {

struct VariantMaking;
class Overriding;

struct EngineState {
  /// What the engine holds is charged to `account`; null counts nothing.
  explicit EngineState(const Limits& limits = {}, AccountPtr account = nullptr, Environment environment = {},
                       std::unique_ptr<WeightStore> constants = std::make_unique<WeightStore>())
      : environment(std::move(environment)), limits(limits), account(std::move(account)),
        constants_(std::move(constants)) {}

  const Environment environment;      ///< Graphs refer to its operators.
  std::unique_ptr<const Graph> graph; ///< Canonical; symbols where sizes are open. A loaded plan's constants
                                      ///< may lie as its kernels read them.
  std::vector<Binding> inputs, outputs;
  Target target;
  double budget = 0; ///< Seconds for tuning a variant made later.
  Limits limits;
  AccountPtr account; ///< Of what the engine holds; a context's has this one for its base.
  std::map<std::string, Preprocess, std::less<>> preprocess;
  std::vector<std::optional<ImageInputOptions>> pictures; ///< By input.
  /// What the build tuned for first; unset where sizes are open that it was not told.
  std::optional<InputShapes> opt;
  CallerMemory callers; ///< By number of `inputs` and `outputs`.
  std::vector<StatePair> states;
  std::vector<Tensor> defaults; ///< By input, on the host as they are held: undefined for those without one.
  Initialisers initialisers;    ///< That are constants here.
  std::shared_ptr<const Overriding> overriding; ///< Null where `initialisers.overridable` is empty.
  std::vector<ShapeProfile> profiles;           ///< In the order in which shapes are looked for in them.
  std::vector<std::string> notes; ///< What `explain` tells of the whole: why a plan was tuned again.
  std::filesystem::path timing_cache;
  bool retune = false;      ///< Seconds in the cache are not looked at.
  bool tune_at_run = false; ///< As BuildOptions::tune_at_run.

  /// The variant for these shapes, made now if it is new, while others of the engine may run, and wait for
  /// none but this one. Thread-safe. `tune` measures within the budget, unless that was done for it, and so
  /// does every call where `tune_at_run` is set; else it takes over what the tuning of shapes like them
  /// chose, or where there is none chooses by estimates among kernels that need no check.
  MadeVariantPtr variant(const InputShapes& shapes, int threads, const Control& control = {},
                         bool tune = true) const;
  /// Puts a ready one in, as one made ahead (a loaded plan's).
  void adopt(const InputShapes& shapes, int threads, MadeVariant made) const;
  Variants& variants() const { return variants_; }
  /// Says which shapes are expected, before any variant is made: those of the first profile are opt then.
  /// From now on variants of opt shapes stay, whatever else is asked for.
  void expect(std::vector<ShapeProfile> profiles);
  /// The first one that holds these shapes; null where none does.
  const ShapeProfile* profile_of(const InputShapes& shapes) const;
  /// Bytes of a context's arena on the device that no variant of shapes in this profile (and in none before
  /// it) needs more than; nothing where the profile lets sizes open or its largest shapes cannot be made. The
  /// first call makes a program of these, without timing or trying a kernel. Thread-safe.
  std::optional<std::uint64_t> arena_bound(std::size_t profile, const Control& control = {}) const;
  /// What a build makes ahead: for the opt shapes, and for those of each profile, as far as they are known.
  std::vector<VariantKey> opt_variants() const;
  /// What stands for the engine where nobody says shapes: the variant of the opt ones, else one that was
  /// made, ahead before others, else that of sample_shapes().
  struct Shown {
    InputShapes shapes;
    MadeVariantPtr variant;
  };
  Shown shown() const;
  /// As Engine::sample_shapes, of the engine's own shapes. Thread-safe.
  InputShapes sample(GivenShapes given, std::int64_t batch = 0) const;
  /// By name, of inputs that have shapes, as callers say them.
  std::map<std::string, Shape> told_shapes(const InputShapes& shapes) const;
  /// `x: [1, 6], mask: [1, 6]`, as callers say them.
  std::string shapes_text(const InputShapes& shapes) const;
  /// Numbers of the inputs that are states.
  std::vector<std::size_t> state_inputs() const;
  /// Tunes each of these within the budget of one build: what one leaves of its share is for those behind it.
  /// Thread-safe. `made` is told of each before the next is made.
  void make_ahead(std::span<const VariantKey> variants, const Control& control,
                  const std::function<void(const MadeVariant&)>& made = {}) const;
  /// `graph` with all constants row-major, which a plan that runs as it was saved never needs. Thread-safe.
  const Graph& portable() const;
  /// Throws Error{invalid_argument} where the model cannot take this shape of an input, whatever those of the
  /// others are. Thread-safe.
  void check_fits(std::size_t input, const Shape& shape) const;
  /// Those of the environment that serve `target`, as backends_for() gives them.
  std::vector<const Backend*> backends(const Target& target) const;
  /// Constants of all variants.
  WeightStore& constants() const { return *constants_; }
  /// As Engine::set_weight_budget; before there are variants any budget is taken.
  void set_weight_budget(std::optional<std::uint64_t> bytes) const;

private:
  TeamsNeeded teams_; ///< Contexts hold this state, so that threads last as long as they.
  struct Model;
  /// `seconds` that tuning may take become what is left of them.
  struct ArenaBound {
    std::uint64_t bytes = 0;
    std::shared_ptr<const Program> program; ///< Of the largest shapes.
  };
  MadeVariantPtr tuned(const VariantKey& key, double& seconds, const Control& control) const;
  Model tactic_source(const InputShapes& shapes, int threads) const;
  MadeVariantPtr nearest_ahead(const InputShapes& shapes, int threads) const;
  void tell_of_first(const VariantKey& key, const MadeVariant& made) const;
  MadeVariant make_like(const VariantKey& key, const Control& control) const;
  MadeVariant lowered(const VariantKey& key, double& seconds, const VariantMaking& making,
                      const Control& control) const;
  [[noreturn]] void fail_without_compiler(const VariantKey& key) const;
  std::optional<ArenaBound> make_bound(const ShapeProfile& profile, const Control& control) const;
  std::shared_ptr<const Program>
  within_bound(const InputShapes& shapes, std::shared_ptr<const Program> program, const Target& target) const;
  std::shared_ptr<const Program> same_kernels(const Graph& lowered, const Target& target) const;
  Target target_of(int threads) const;

  mutable Variants variants_;
  mutable std::atomic<bool> told_of_first_{false};
  std::unique_ptr<WeightStore> constants_;
  mutable std::mutex bounds_mutex_;
  mutable std::map<std::size_t, std::optional<ArenaBound>> bounds_; ///< By profile, of those asked for.
  mutable std::mutex fitting_mutex_;
  mutable std::set<std::pair<std::size_t, std::vector<std::int64_t>>> fitting_; ///< Shapes found to fit.
  mutable std::once_flag unpacked_;
  mutable std::unique_ptr<const Graph> portable_; ///< Null where `graph` is so itself.
};

/// What an engine's copies share; lives as long as one of them or of their contexts.
const EngineState& state_of(const Engine& engine);
Engine engine_of(std::shared_ptr<const EngineState> state);

/// Throws Error{invalid_argument, unsupported} where `tune_at_run` is set and nothing may be timed.
void check_tune_at_run(const EngineState& state);

/// What was measured of the machine, where the target may know.
void set_limits(Target& target, const EnvironmentState& environment);

/// Bindings of a graph's inputs or outputs.
std::vector<Binding> input_bindings(const Graph& graph);
std::vector<Binding> output_bindings(const Graph& graph);

} // namespace lanner
