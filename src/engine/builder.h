#pragma once
// Interface to the builder, which liblanner contains and liblanner-runtime does not
// (docs/decisions/029-runtime.md). Code that loads and runs plans reaches the builder only through here.

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

/// How to make a variant.
struct VariantMaking {
  const MadeVariant* model = nullptr; ///< Variant whose tactics it reuses; null: it is tuned.
  bool sizes_only = false;            ///< It will never run.
  bool trusting = false;              ///< For a first run: trusted kernels are used without a check.
};

/// Makes engines, and variants of them, from models. Stateless; thread-safe.
class EngineBuilder {
public:
  virtual ~EngineBuilder() = default;

  /// As Engine::build, but errors do not begin with the model's name.
  virtual std::shared_ptr<const EngineState> build(const SourcePtr& model, const BuildOptions& options,
                                                   const std::filesystem::path& folder) const = 0;
  /// As calibrate().
  virtual CalibrationTable calibrate(const SourcePtr& model, const BuildOptions& options,
                                     const std::filesystem::path& folder) const = 0;
  /// A variant lowered for its shapes and threads: tuned within `seconds`, which is reduced by the time
  /// spent, by estimates where that is 0, or with the tactics of `making.model` if set.
  virtual MadeVariant variant(const EngineState& state, const VariantKey& key, const VariantMaking& making,
                              double& seconds, const Control& control) const = 0;
  /// Whether the kernels of a lowered graph may run on another number of threads than they were checked for.
  virtual bool trusted(const Graph& lowered, std::span<const Backend* const> backends) const = 0;
  /// As Engine::verify.
  virtual Verification verify(const Engine& engine, const VerifyOptions& options) const = 0;
  /// As measure_machine(), which caches the result.
  virtual MachineLimits measure(Device device, const Control& control) const = 0;
  /// The name of the model format that bytes look like.
  virtual std::optional<std::string_view> model_format(std::span<const std::byte> bytes) const = 0;
  /// The source weights of a model, whose data files are in `folder`.
  virtual WeightValues model_weights(const SourcePtr& model, const std::filesystem::path& folder,
                                     const Limits& limits, const OpTable& ops) const = 0;
};

/// Null in liblanner-runtime.
const EngineBuilder* find_builder();
/// Throws Error{unsupported} in liblanner-runtime; the message says what `asked` for it and the `remedy`.
const EngineBuilder& builder_for(std::string_view asked, std::string_view remedy);

} // namespace lanner
