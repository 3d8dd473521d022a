#include "tf/convert/tensorflow_run.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/file/scratch_folder.h"
#include "base/text/one_line.h"
#include "tf/convert/saved_model_file.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {
namespace {

/// What engines read besides the model's own inputs.
std::vector<std::string> values_read(const Division& division) {
  const std::vector<ImportValue>& inputs = division.flat.graph.inputs;
  std::set<std::string> values;
  for (const PartPlan& part : division.parts)
    if (part.engine) values.insert(part.inputs.begin(), part.inputs.end());
  for (const ImportValue& input : inputs) values.erase(input.name);
  return {values.begin(), values.end()};
}

bool has_engine(const Division& division) {
  return std::ranges::any_of(division.parts, [](const PartPlan& part) { return part.engine; });
}

const Item& value_of(const Items& values, const std::string& name) {
  const auto found = values.find(name);
  check(found != values.end() && found->second.tensor.defined(), ErrorCode::internal,
        "calibration: TensorFlow gave no value of {}", one_line(name, 200));
  return found->second;
}

/// The data, of which `batches` gets a copy.
CalibrationData recorded(const CalibrationData& data, const ImportGraph& graph, std::vector<Items>& batches) {
  return [&data, &graph, &batches](bool restart) {
    std::optional<Items> batch = data(restart);
    if (!batch) return batch;
    with_context([&] { return fmt::format("calibration: batch {}", batches.size()); },
                 [&] { check_inputs(graph, *batch); });
    batches.push_back(*batch);
    return batch;
  };
}

std::vector<Items> results_of(const ModelState& state, const std::vector<std::string>& values,
                              const CalibrationData& data) {
  const BuildOptions& build = state.options.build;
  const TensorFlowRun& given = state.options.run_in_tensorflow;
  const ScratchFolder folder("calibration");
  write_native(state, values, folder.path());
  try {
    return (given ? given : run_in_child(build.limits))(folder.path(), data, build.control);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    fail(error.code(), "{}; nodes that only TensorFlow can run: {}", error.message(), state.foreign);
  }
}

} // namespace

std::vector<std::vector<Items>> inputs_in_tensorflow(const ModelState& state) {
  const Division& division = *state.division;
  std::vector<std::vector<Items>> seen(division.parts.size());
  if (!has_engine(division)) return seen;
  std::vector<Items> batches, results;
  const CalibrationData data = recorded(state.options.build.calibration.data, division.flat.graph, batches);
  if (const std::vector<std::string> values = values_read(division); !values.empty())
    results = results_of(state, values, data);
  else
    for (bool restart = true; data(restart); restart = false) results.emplace_back();
  check(!batches.empty(), ErrorCode::invalid_argument,
        "precision int8: the calibration data has no batch; expected at least one");
  check(results.size() == batches.size(), ErrorCode::internal, "calibration: TensorFlow ran {} batches of {}",
        results.size(), batches.size());
  std::map<std::string, std::string> labels;
  for (const ImportValue& input : division.flat.graph.inputs) labels[input.name] = input.shown();
  for (std::size_t p = 0; p < seen.size(); ++p) {
    const PartPlan& part = division.parts[p];
    for (std::size_t b = 0; part.engine && b < batches.size(); ++b) {
      Items& items = seen[p].emplace_back();
      for (std::size_t i = 0; i < part.inputs.size(); ++i) {
        const auto label = labels.find(part.inputs[i]);
        items[input_binding(i)] = label == labels.end() ? value_of(results[b], part.inputs[i])
                                                        : value_of(batches[b], label->second);
      }
    }
  }
  return seen;
}

} // namespace lanner::tf
