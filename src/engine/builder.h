#pragma once
// What a library that only runs plans lacks. Whoever loads and runs asks for it here, in few places, and
// names no part of it: liblanner has a compiler, liblanner-runtime has none (docs/decisions/029-runtime.md).

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <lanner/engine.h>
#include <lanner/machine_limits.h>
#include <lanner/source.h>

#include "engine/source_weights.h"
#include "engine/state.h"
#include "engine/variants.h"
#include "graph/backend.h"

namespace lanner {

/// How a variant is made.
struct VariantMaking {
  const MadeVariant* model = nullptr; ///< Whose tactics it takes over; null: it is tuned.
  bool sizes_only = false;            ///< It will never run.
  bool trusting = false; ///< For a first run: kernels on the project's list are taken without a check.
};

/// Without a state of its own; thread-safe.
class Compiler {
public:
  virtual ~Compiler() = default;

  /// As Engine::build, without the name of the model before a failure.
  virtual std::shared_ptr<const EngineState> build(const SourcePtr& model, const BuildOptions& options,
                                                   const std::filesystem::path& folder) const = 0;
  /// Lowered for its shapes and threads: tuned within `seconds`, which become what is left of them, by
  /// estimates where these are 0, or with the tactics of the model where there is one.
  virtual MadeVariant variant(const EngineState& state, const VariantKey& key, const VariantMaking& making,
                              double& seconds, const Control& control) const = 0;
  /// Whether the kernels of a lowered graph may run on another number of threads than they were checked for.
  virtual bool trusted(const Graph& lowered, std::span<const Backend* const> backends) const = 0;
  /// As Engine::verify, likewise.
  virtual Verification verify(const Engine& engine, const VerifyOptions& options) const = 0;
  /// As measure_machine(), which keeps the result.
  virtual MachineLimits measure(Device device, const Control& control) const = 0;
  /// The name of the model format that bytes look like.
  virtual std::optional<std::string_view> model_format(std::span<const std::byte> bytes) const = 0;
  /// The source weights of a model, whose data files lie in `folder`.
  virtual WeightValues model_weights(const SourcePtr& model, const std::filesystem::path& folder,
                                     const Limits& limits, const OpTable& ops) const = 0;
};

/// Null in a library without one.
const Compiler* find_compiler();
/// Throws Error{unsupported} in a library without one: `asked` needs it, `remedy` does without.
const Compiler& compiler_for(std::string_view asked, std::string_view remedy);

} // namespace lanner
