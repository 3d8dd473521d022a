#pragma once
// What a converted model holds.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/tensorflow.h>

#include "tf/convert/division.h"
#include "tf/convert/engine_cache.h"

namespace lanner::tf {

struct Part {
  PartPlan plan;
  std::optional<Engine> engine;       ///< Of a native part.
  std::shared_ptr<EngineCache> cache; ///< Of a part that has engines; else null.
  Precision precision;
  bool use_calibration = true; ///< As its node says: INT8 by calibration, not by ranges in the graph.
  ConvertedPart facts;
};

struct ModelState {
  ConvertOptions options;
  std::shared_ptr<const Division> division;
  std::vector<Binding> inputs, outputs;
  std::shared_ptr<CacheGroup> group = std::make_shared<CacheGroup>();
  std::vector<Part> parts;
  std::vector<ConvertedPart> facts;
  std::string foreign;          ///< As foreign_nodes(); parts of native nodes are not made then.
  std::filesystem::path folder; ///< Of the model, with its assets; empty: it has none.
};

} // namespace lanner::tf
