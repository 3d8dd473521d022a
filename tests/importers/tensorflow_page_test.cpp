// docs/tensorflow-operators.md is what the rules themselves do. LANNER_WRITE_TENSORFLOW_OPERATORS=1 writes
// it.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "file_content.h"
#include "importers/importing.h"
#include "importers/tensorflow/rules/rules.h"
#include "importers/tensorflow/tensor_record.h"
#include "importers/tensorflow_samples.h"
#include "source_dir.h"

namespace lanner::test {
namespace {

using Samples = std::map<std::string, std::vector<TensorFlowSample>>;

const std::vector<std::string>& all_types() {
  static const std::vector<std::string> types{
      "DT_FLOAT", "DT_DOUBLE", "DT_HALF",   "DT_BFLOAT16", "DT_INT8",   "DT_INT16", "DT_INT32",
      "DT_INT64", "DT_UINT8",  "DT_UINT16", "DT_UINT32",   "DT_UINT64", "DT_BOOL"};
  return types;
}

std::string our_name(const std::string& type) {
  return std::string(to_string(tensorflow::dtype_of_tensorflow(number_of_type(type))));
}

/// Ours, in one order; those without a tensor of ours are left out.
std::vector<std::string> allowed_types(const TensorFlowSample& sample, const std::string& attribute) {
  const auto given = sample.types.find(attribute);
  std::vector<std::string> found;
  for (const std::string& type : all_types())
    if (given == sample.types.end() || std::ranges::find(given->second, type) != given->second.end())
      found.push_back(type);
  return found;
}

/// The attribute that says the type of the data: T, or that of the first fed input; a type where that is
/// fixed.
std::string main_attribute(const TensorFlowSample& sample) {
  const SampleTensor* first = nullptr;
  for (const SampleTensor& input : sample.inputs) {
    if (input.kind == "T") return "T";
    if (!first || (input.fed && !first->fed)) first = &input;
  }
  return first ? first->kind : "";
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

/// The operators that the samples become, in their order, without constants.
std::string becomes(const std::vector<TensorFlowSample>& samples) {
  std::vector<std::string> kinds;
  for (const TensorFlowSample& sample : samples) {
    const auto graph = imported(graph_def_of(sample));
    for (const auto& node : graph->body().nodes()) {
      const std::string kind = fmt::format("`{}`", node->kind());
      if (kind != "`constant`" && std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  return kinds.empty() ? "its input" : joined(kinds, " ");
}

struct Types {
  std::vector<std::string> taken;
  std::map<std::string, std::vector<std::string>> refused; ///< By reason.
};

/// A message without the node in front, and the same for all types.
std::string reason_of(const std::string& message, const std::string& type) {
  const std::size_t begin = message.find("): ");
  std::string reason = message.substr(begin == std::string::npos ? 0 : begin + 3);
  const std::string own = fmt::format(" is {}, expected", type);
  if (const std::size_t place = reason.find(own); place != std::string::npos)
    reason.replace(place, own.size(), ": expected");
  return reason;
}

/// Each type that TensorFlow's definition allows, tried.
Types tried_types(const TensorFlowSample& sample) {
  Types made;
  const std::string attribute = main_attribute(sample);
  if (attribute.empty()) return made;
  if (attribute.starts_with("DT_")) {
    made.taken.push_back(our_name(attribute));
    return made;
  }
  for (const std::string& type : allowed_types(sample, attribute)) {
    try {
      imported(graph_def_of(with_type(sample, attribute, type)));
      made.taken.push_back(our_name(type));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << sample.name << ": " << error.message();
      made.refused[reason_of(error.message(), our_name(type))].push_back(our_name(type));
    }
  }
  return made;
}

std::string notes(const tensorflow::OperatorRule& rule, const Types& types) {
  std::vector<std::string> parts;
  for (const auto& [reason, names] : types.refused)
    parts.push_back("not " + joined(names, ", ") + ": " + reason);
  for (const char* limit : rule.limits)
    if (!types.refused.contains(limit)) parts.push_back(std::string("refused: ") + limit);
  for (const char* difference : rule.differences) parts.push_back(std::string("differs: ") + difference);
  return joined(parts, "<br>");
}

std::string page() {
  Samples samples;
  for (TensorFlowSample& sample : tensorflow_samples()) samples[sample.op].push_back(std::move(sample));
  std::string text =
      "# Operators of TensorFlow\n\n"
      "Generated from the importer's rules by `LANNER_WRITE_TENSORFLOW_OPERATORS=1 build/bin/lanner_tests "
      "--gtest_filter=TensorFlowPage.*`; do not edit.\n\n"
      "`becomes`: the operators that the test's nodes of the operator become. `types`: the element types "
      "that it "
      "takes of those that TensorFlow's definition allows. Both are empty where a node is tested only in a "
      "graph.\n"
      "Complex numbers, 8-bit floats, quantised integers (`qint8` and others), resources and variants are "
      "refused "
      "everywhere. Sizes may be open unless a line says what must be known before running.\n\n"
      "| operator | becomes | types | refused, and why |\n|---|---|---|---|\n";
  std::map<std::string, std::vector<std::string>> refused;
  std::size_t taken = 0;
  for (const auto& [name, rule] : tensorflow::operator_rules()) {
    if (rule.refused) {
      refused[rule.limits.at(0)].push_back("`" + name + "`");
      continue;
    }
    ++taken;
    const auto found = samples.find(name);
    const Types types = found == samples.end() ? Types{} : tried_types(found->second.front());
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", name, found == samples.end() ? "" : becomes(found->second),
                    joined(types.taken, " "), notes(rule, types));
  }
  text += fmt::format("\n{} operators.\n\n## Refused by name\n\n| why | operators |\n|---|---|\n", taken);
  for (const auto& [reason, names] : refused)
    text += fmt::format("| {} | {} |\n", reason, joined(names, " "));
  return text;
}

} // namespace

TEST(TensorFlowPage, IsWhatTheRulesDo) {
  const auto path = source_dir() / "docs" / "tensorflow-operators.md";
  const std::string expected = page();
  if (std::getenv("LANNER_WRITE_TENSORFLOW_OPERATORS")) std::ofstream(path) << expected;
  EXPECT_EQ(content_of(path), expected) << "LANNER_WRITE_TENSORFLOW_OPERATORS=1 writes it";
}

} // namespace lanner::test
