#include "importers/tensorflow/node_outputs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/one_line.h"

namespace lanner::tensorflow {
namespace {

/// Limit on the results of an operator; a number from a file is checked against it before use.
constexpr std::int64_t max_outputs = 1 << 16;

/// `Operator result result;`, results as results_attribute has them.
constexpr std::string_view known_results =
#include "importers/tensorflow/operator_results.inc"
    ;

using Specs = std::vector<std::string_view>;

std::string_view taken_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

const std::map<std::string_view, Specs>& results_by_operator() {
  static const std::map<std::string_view, Specs> table = [] {
    std::map<std::string_view, Specs> made;
    for (std::string_view rest = known_results; !rest.empty();) {
      std::string_view entry = taken_until(rest, ';');
      Specs& specs = made[taken_until(entry, ' ')];
      while (!entry.empty()) specs.push_back(taken_until(entry, ' '));
    }
    return made;
  }();
  return table;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

template<typename T>
const T* value_of(const ImportNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second.value);
}

void check_count(const ImportNode& node, std::int64_t count) {
  check(count >= 0 && count <= max_outputs, ErrorCode::limit_exceeded, "node {}: {} results are more than {}",
        one_line(node.name, 200), count, max_outputs);
}

OutputArgument argument_of(const ImportNode& node, std::string_view spec) {
  const std::size_t mark = std::min(spec.find_first_of("=@"), spec.size());
  std::string_view name = spec.substr(0, mark), type = spec.substr(std::min(mark + 1, spec.size()));
  OutputArgument argument{std::string(taken_until(name, '*'))};
  const std::string_view type_name = taken_until(type, '|');
  const std::optional<std::int64_t> fallback = number_in(type);
  if (mark < spec.size() && spec[mark] == '@') {
    const auto* list = value_of<std::vector<std::int64_t>>(node, type_name);
    argument.count = list ? static_cast<std::int64_t>(list->size()) : 0;
    check_count(node, argument.count);
    if (list) argument.types.assign(list->begin(), list->end());
    return argument;
  }
  if (!name.empty()) {
    const auto* count = value_of<std::int64_t>(node, name);
    argument.count = count ? *count : 0;
  }
  check_count(node, argument.count);
  std::optional<std::int64_t> of_each = number_in(type_name);
  if (!of_each) {
    const auto* number = value_of<std::int64_t>(node, type_name);
    of_each = number ? std::optional(*number) : fallback;
  }
  argument.types.assign(static_cast<std::size_t>(argument.count), of_each);
  return argument;
}

/// Where an operator that nothing describes usually has the types of its results.
std::optional<std::int64_t> usual_type(const ImportNode& node, std::size_t i) {
  for (const char* name : {"Tout", "OutT", "output_types", "Toutput_types", "component_types", "out_types"})
    if (const auto* list = value_of<std::vector<std::int64_t>>(node, name); list && i < list->size())
      return (*list)[i];
  for (const char* name : {"dtype", "DstT", "out_type", "output_type", "Tout", "Tparams", "T"})
    if (const auto* type = value_of<std::int64_t>(node, name)) return *type;
  return std::nullopt;
}

} // namespace

std::vector<OutputArgument> output_arguments(const ImportNode& node) {
  std::vector<OutputArgument> arguments;
  if (const auto known = results_by_operator().find(node.op); known != results_by_operator().end()) {
    for (const std::string_view spec : known->second) arguments.push_back(argument_of(node, spec));
  } else if (const auto* specs = value_of<std::vector<std::string>>(node, results_attribute)) {
    for (const std::string& spec : *specs) arguments.push_back(argument_of(node, spec));
  }
  return arguments;
}

bool knows_results(std::string_view op) {
  return results_by_operator().contains(op);
}

std::optional<std::int64_t> output_type(const ImportNode& node, std::size_t i) {
  const std::vector<OutputArgument> arguments = output_arguments(node);
  std::size_t first = 0;
  for (const OutputArgument& argument : arguments) {
    if (i < first + argument.types.size()) { // 0: of a node that stands for control flow of TensorFlow 1
      const auto type = argument.types[i - first];
      return type && *type != 0 ? type : std::nullopt;
    }
    first += argument.types.size();
  }
  return arguments.empty() ? usual_type(node, i) : std::nullopt;
}

std::int64_t shown_outputs(const ImportNode& node) {
  static const std::set<std::string, std::less<>> several{"TopKV2",
                                                          "TopK",
                                                          "NonMaxSuppressionV4",
                                                          "NonMaxSuppressionV5",
                                                          "Unique",
                                                          "TensorArrayV3",
                                                          "UniqueV2",
                                                          "UniqueWithCounts",
                                                          "UniqueWithCountsV2",
                                                          "ListDiff",
                                                          "MaxPoolWithArgmax",
                                                          "CombinedNonMaxSuppression",
                                                          "TensorListPopBack",
                                                          "BroadcastGradientArgs",
                                                          "SoftmaxCrossEntropyWithLogits",
                                                          "SparseSoftmaxCrossEntropyWithLogits",
                                                          "Split",
                                                          "SplitV",
                                                          "Unpack",
                                                          "IdentityN",
                                                          "ShapeN",
                                                          "DynamicPartition",
                                                          "ConcatOffset",
                                                          "PartitionedCall",
                                                          "StatefulPartitionedCall",
                                                          "If",
                                                          "StatelessIf",
                                                          "While",
                                                          "StatelessWhile",
                                                          "Case",
                                                          "StatelessCase",
                                                          "_SwitchN"};
  // The other results of many operators, batch normalisation's for one, are for training.
  if (!several.contains(node.op)) return 1;
  std::int64_t count = 0;
  for (const OutputArgument& argument : output_arguments(node)) count += argument.count;
  return std::max<std::int64_t>(count, 1);
}

} // namespace lanner::tensorflow
