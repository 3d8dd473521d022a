#pragma once
// State shared by an Engine's copies and contexts.

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
  /// The engine's memory is charged to `account`; null counts nothing.
  explicit EngineState(const Limits& limits = {}, AccountPtr account = nullptr, Environment environment = {},
                       std::unique_ptr<WeightStore> constants = std::make_unique<WeightStore>())
      : environment(std::move(environment)), limits(limits), account(std::move(account)),
        constants_(std::move(constants)) {}

  const Environment environment;      ///< Graphs refer to its operators.
  std::unique_ptr<const Graph> graph; ///< Canonical; symbols where sizes are open. A loaded plan's constants
                                      ///< may be in its kernels' layouts.
  std::vector<Binding> inputs, outputs;
  Target target;
  double budget = 0; ///< Seconds for tuning a variant made later.
  Limits limits;
  AccountPtr account; ///< For the engine's memory; parent of its contexts' accounts.
  std::map<std::string, Preprocess, std::less<>> preprocess;
  std::vector<std::optional<ImageInputOptions>> pictures; ///< By input.
  /// Shapes that the build tuned for first; unset where open sizes were not given.
  std::optional<InputShapes> opt;
  CallerMemory callers; ///< By number of `inputs` and `outputs`.
  std::vector<StatePair> states;
  std::vector<Tensor>
      defaults; ///< By input, on the host in the caller's storage: undefined where there is none.
  Initialisers initialisers;                    ///< Those that are constants of this engine.
  std::shared_ptr<const Overriding> overriding; ///< Null where `initialisers.overridable` is empty.
  std::vector<ShapeProfile> profiles;           ///< In order of precedence.
  std::vector<std::string> notes; ///< Notes of `explain` on the whole engine: why a plan was tuned again.
  std::filesystem::path timing_cache;
  bool retune = false;      ///< Cached timings are ignored.
  bool tune_at_run = false; ///< As BuildOptions::tune_at_run.

  /// The variant for these shapes, made now if it is new; other variants may run meanwhile, and only callers
  /// of this one wait. Thread-safe. With `tune` or `tune_at_run` kernels are timed within the budget, once
  /// for each variant. Otherwise the variant gets the tactics of similar tuned shapes, or, if there are none,
  /// trusted kernels chosen by estimates.
  MadeVariantPtr variant(const InputShapes& shapes, int threads, const Control& control = {},
                         bool tune = true) const;
  /// Adds a variant that exists already, from a loaded plan, to those made ahead.
  void adopt(const InputShapes& shapes, int threads, MadeVariant made) const;
  Variants& variants() const { return variants_; }
  /// Sets the expected shapes before any variant is made: those of the first profile become `opt`. Variants
  /// of opt shapes are never evicted.
  void expect(std::vector<ShapeProfile> profiles);
  /// The first profile that contains these shapes; null where none does.
  const ShapeProfile* profile_of(const InputShapes& shapes) const;
  /// Upper bound in bytes of a context's device arena, for shapes that this is the first profile to contain;
  /// nothing if the profile leaves sizes open or a program for its largest shapes cannot be made. The first
  /// call makes that program, without timing or checking kernels. Thread-safe.
  std::optional<std::uint64_t> arena_bound(std::size_t profile, const Control& control = {}) const;
  /// The variants that a build makes ahead: of the opt shapes, and of each profile's, as far as known.
  std::vector<VariantKey> opt_variants() const;
  /// The variant shown where no shapes are given: that of the opt shapes, else an existing one, preferably
  /// made ahead, else that of sample_shapes().
  struct Shown {
    InputShapes shapes;
    MadeVariantPtr variant;
  };
  Shown shown() const;
  /// As Engine::sample_shapes, of the engine's own shapes. Thread-safe.
  InputShapes sample(GivenShapes given, std::int64_t batch = 0) const;
  /// Shapes by name, of inputs that have one, in the caller's form.
  std::map<std::string, Shape> caller_shapes(const InputShapes& shapes) const;
  /// `x: [1, 6], mask: [1, 6]`, in the caller's form.
  std::string shapes_text(const InputShapes& shapes) const;
  /// Indices of the inputs that are states.
  std::vector<std::size_t> state_inputs() const;
  /// Tunes each of these within the budget of one build: unused time of one's share goes to later ones.
  /// Thread-safe. `made` is called with each before the next is made. `seconds`: the time for tuning, if it
  /// is not the whole budget. Returns what is left of it.
  double make_ahead(std::span<const VariantKey> variants, const Control& control,
                    const std::function<void(const MadeVariant&)>& made = {},
                    std::optional<double> seconds = std::nullopt) const;
  /// `graph` with all constants row-major, which a plan that runs with its saved kernels never needs.
  /// Thread-safe.
  const Graph& portable() const;
  /// Throws Error{invalid_argument} where the model cannot accept this shape of an input, whatever the
  /// others' are. Thread-safe.
  void check_fits(std::size_t input, const Shape& shape) const;
  /// The environment's backends for `target`, by backends_for().
  std::vector<const Backend*> backends(const Target& target) const;
  /// Constants of all variants.
  WeightStore& constants() const { return *constants_; }
  /// As Engine::set_weight_budget; without variants any budget is accepted.
  void set_weight_budget(std::optional<std::uint64_t> bytes) const;

private:
  TeamsNeeded teams_; ///< Contexts share this state, so the threads live as long as they do.
  struct Model;
  /// The arena's size for a profile's largest shapes.
  struct ArenaBound {
    std::uint64_t bytes = 0;
    std::shared_ptr<const Program> program; ///< Of the largest shapes.
  };
  /// `seconds`: the time for tuning, which the call reduces by the time spent.
  MadeVariantPtr tuned(const VariantKey& key, double& seconds, const Control& control) const;
  Model tactic_source(const InputShapes& shapes, int threads) const;
  MadeVariantPtr nearest_ahead(const InputShapes& shapes, int threads) const;
  void warn_about_first(const VariantKey& key, const MadeVariant& made) const;
  MadeVariant make_like(const VariantKey& key, const Control& control) const;
  MadeVariant lowered(const VariantKey& key, double& seconds, const VariantMaking& making,
                      const Control& control) const;
  [[noreturn]] void fail_without_builder(const VariantKey& key) const;
  std::optional<ArenaBound> make_bound(const ShapeProfile& profile, const Control& control) const;
  std::shared_ptr<const Program>
  within_bound(const InputShapes& shapes, std::shared_ptr<const Program> program, const Target& target) const;
  std::shared_ptr<const Program> same_kernels(const Graph& lowered, const Target& target) const;
  Target target_of(int threads) const;

  mutable Variants variants_;
  mutable std::atomic<bool> told_of_first_{false};
  std::unique_ptr<WeightStore> constants_;
  mutable std::mutex bounds_mutex_;
  mutable std::map<std::size_t, std::optional<ArenaBound>> bounds_; ///< By profile, as requested.
  mutable std::mutex fitting_mutex_;
  mutable std::set<std::pair<std::size_t, std::vector<std::int64_t>>> fitting_; ///< Shapes known to fit.
  mutable std::once_flag unpacked_;
  mutable std::unique_ptr<const Graph> portable_; ///< Null where `graph` is already row-major.
};

/// The state shared by an engine's copies; lives as long as any of them or of their contexts.
const EngineState& state_of(const Engine& engine);
Engine engine_of(std::shared_ptr<const EngineState> state);

/// Throws Error{invalid_argument, unsupported} where `tune_at_run` is set and nothing may be timed.
void check_tune_at_run(const EngineState& state);

/// Sets the measured limits of the machine, unless the target is deterministic.
void set_limits(Target& target, const EnvironmentState& environment);

/// Bindings of a graph's inputs or outputs.
std::vector<Binding> input_bindings(const Graph& graph);
std::vector<Binding> output_bindings(const Graph& graph);

} // namespace lanner
