#pragma once
// What a converted model holds.

#include <memory>
#include <string>
#include <vector>

#include <lanner/tensorflow.h>

#include "tf/convert/division.h"

namespace lanner::tf {

struct Part {
  PartPlan plan;
  Engine engine;
  ConvertedPart facts;
};

struct ModelState {
  ConvertOptions options;
  std::shared_ptr<const Division> division;
  std::vector<Binding> inputs, outputs;
  std::vector<Part> parts;
  std::vector<ConvertedPart> facts;
};

} // namespace lanner::tf
