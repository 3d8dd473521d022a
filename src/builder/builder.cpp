// Implements the engine's interface to the builder (engine/builder.h).

#include "engine/builder.h"

#include "builder/build.h"
#include "builder/measurement.h"
#include "builder/variant.h"
#include "builder/verification.h"
#include "importers/importer.h"
#include "lower/check/trusted_kernels.h"

namespace lanner {
namespace {

class LinkedBuilder final : public EngineBuilder {
public:
  std::shared_ptr<const EngineState> build(const SourcePtr& model, const BuildOptions& options,
                                           const std::filesystem::path& folder) const override {
    return build_state(model, options, folder);
  }
  CalibrationTable calibrate(const SourcePtr& model, const BuildOptions& options,
                             const std::filesystem::path& folder) const override {
    return calibrated(model, options, folder);
  }
  MadeVariant variant(const EngineState& state, const VariantKey& key, const VariantMaking& making,
                      double& seconds, const Control& control) const override {
    return lowered_variant(state, key, making, seconds, control);
  }
  bool trusted(const Graph& lowered, std::span<const Backend* const> backends) const override {
    return lanner::trusted(lowered, backends);
  }
  Verification verify(const Engine& engine, const VerifyOptions& options) const override {
    return verify_engine(engine, options);
  }
  MachineLimits measure(Device device, const Control& control) const override {
    return measured_limits(device, control);
  }
  std::optional<std::string_view> model_format(std::span<const std::byte> bytes) const override {
    return format_of(bytes);
  }
  WeightValues model_weights(const SourcePtr& model, const std::filesystem::path& folder,
                             const Limits& limits, const OpTable& ops) const override {
    return weights_of(*import_model(model, {ops, folder, limits}));
  }
};

} // namespace

const EngineBuilder* find_builder() {
  static const LinkedBuilder builder;
  return &builder;
}

} // namespace lanner
