#include "tf/convert/cache_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include <nlohmann/json.hpp>

#include <lanner/log.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "base/text/json.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/graph_record.h"

namespace lanner::tf {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> strategy_names{"Range", "Optimal", "Range+Optimal",
                                                         "ImplicitBatchModeCompatible"};
constexpr std::array<std::string_view, native_causes> cause_names{
    "scalar_input",     "unequal_batch", "other_shapes", "open_sizes",
    "outside_profiles", "not_built",     "build_failed", "memory_limit"};

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::optional<std::int64_t> number_in(const ImportNode& node, std::string_view name) {
  const auto* number = tensorflow::attribute_of<std::int64_t>(node, name);
  return number ? std::optional(*number) : std::nullopt;
}

/// The profile strategy of a node with explicit batch. The nodes that save() writes have none.
void take_strategy(const ImportNode& node, CacheRules& rules) {
  const auto* name = tensorflow::attribute_of<std::string>(node, "profile_strategy");
  if (!name || name->empty()) return;
  rules.shapes = EngineShapes::profiles;
  const auto known =
      std::ranges::find_if(strategy_names, [&](std::string_view each) { return same_word(each, *name); });
  if (known == strategy_names.end())
    log_message(LogLevel::warning, fmt::format("node {}: profile_strategy '{}' is unknown; Range is used",
                                               one_line(node.name, 200), one_line(*name, 200)));
  else
    rules.strategy = static_cast<ProfileStrategy>(known - strategy_names.begin());
}

/// Attributes that a node lacks have TF-TRT's defaults.
CacheRules rules_of(const ImportNode& node) {
  CacheRules rules;
  const bool is_static =
      number_in(node, "static_engine").value_or(0) != 0 || number_in(node, static_attribute).value_or(0) != 0;
  rules.mode = is_static ? EngineMode::fixed : EngineMode::dynamic;
  const auto count = number_in(node, "max_cached_engines_count");
  rules.maximum = static_cast<std::size_t>(std::max<std::int64_t>(count.value_or(1), 1));
  rules.max_batch = std::max<std::int64_t>(number_in(node, "max_batch_size").value_or(1), 1);
  if (const auto* batches = tensorflow::attribute_of<std::vector<std::int64_t>>(node, "cached_engine_batches"))
    for (const std::int64_t batch : *batches) rules.max_batch = std::max(rules.max_batch, batch); // of 1.x
  rules.build_at_run = number_in(node, "_allow_build_at_runtime").value_or(1) != 0;
  if (number_in(node, "_use_implicit_batch").value_or(1) != 0)
    rules.shapes = EngineShapes::implicit_batch;
  else
    take_strategy(node, rules);
  return rules;
}

Json dims_of(const Shape& shape) {
  return shape.dims();
}

Shape shape_of(const Json& dims) {
  Shape shape;
  for (const Json& size : dims) {
    const auto value = size.get<std::int64_t>();
    check(value >= 0, ErrorCode::bad_data, "size {}", value);
    shape.push_back(value);
  }
  return shape;
}

ShapeRange range_of(const Json& json) {
  ShapeRange range{shape_of(json.at("min")), shape_of(json.at("opt")), shape_of(json.at("max"))};
  bool ordered = range.min.rank() == range.opt.rank() && range.opt.rank() == range.max.rank();
  for (std::size_t d = 0; ordered && d < range.opt.rank(); ++d)
    ordered = range.min[d] <= range.opt[d] && range.opt[d] <= range.max[d];
  check(ordered, ErrorCode::bad_data, "min {}, opt {}, max {}", range.min.to_string(), range.opt.to_string(),
        range.max.to_string());
  return range;
}

/// With the first size from `first` on.
ServedShapes from_batch(const PartShapes& shapes, std::int64_t first) {
  ServedShapes served;
  for (const Shape& shape : shapes) {
    ShapeRange range = ShapeRange::fixed(shape);
    if (shape.rank() > 0) range.min[0] = std::min(first, shape[0]);
    served.push_back(std::move(range));
  }
  return served;
}

/// The ranges of all shapes; those of other ranks are a range of their own.
std::vector<ServedShapes> ranges_of(const std::vector<PartShapes>& seen) {
  std::map<std::vector<std::size_t>, ServedShapes> by_ranks;
  for (const PartShapes& shapes : seen) {
    std::vector<std::size_t> ranks;
    for (const Shape& shape : shapes) ranks.push_back(shape.rank());
    ServedShapes& served = by_ranks[ranks];
    if (served.empty())
      for (const Shape& shape : shapes) served.push_back(ShapeRange::fixed(shape));
    for (std::size_t i = 0; i < shapes.size(); ++i)
      for (std::size_t d = 0; d < shapes[i].rank(); ++d) {
        served[i].min[d] = std::min(served[i].min[d], shapes[i][d]);
        served[i].opt[d] = served[i].max[d] = std::max(served[i].max[d], shapes[i][d]);
      }
  }
  std::vector<ServedShapes> all;
  for (auto& [ranks, served] : by_ranks) all.push_back(std::move(served));
  return all;
}

} // namespace

std::string_view to_string(ProfileStrategy strategy) noexcept {
  return strategy_names[static_cast<std::size_t>(strategy)];
}

ProfileStrategy parse_profile_strategy(std::string_view name) {
  const auto known =
      std::ranges::find_if(strategy_names, [&](std::string_view each) { return same_word(each, name); });
  check(known != strategy_names.end(), ErrorCode::invalid_argument,
        "profile strategy '{}': expected one of {}", one_line(name, 200), joined(strategy_names, ", "));
  return static_cast<ProfileStrategy>(known - strategy_names.begin());
}

std::string_view to_string(NativeCause cause) noexcept {
  return cause_names[static_cast<std::size_t>(cause)];
}

std::string sentence(NativeCause cause) {
  switch (cause) {
  case NativeCause::scalar_input:
    return "an input has no batch dimension, which implicit batch needs; engine_shapes any or profiles takes "
           "it";
  case NativeCause::unequal_batch:
    return "the inputs differ in their first size, which is one batch with implicit batch; engine_shapes any "
           "or profiles takes them";
  case NativeCause::other_shapes:
    return "static mode: the engine was built for other shapes; a larger max_batch_size, or dynamic mode, "
           "takes them";
  case NativeCause::open_sizes:
    return "input shapes must be fully defined when in static mode; give shapes, or use dynamic mode";
  case NativeCause::outside_profiles:
    return "no profile contains the shapes; give such inputs to build()";
  case NativeCause::not_built:
    return "no engine was built for the shapes, and allow_build_at_runtime is off; give such inputs to "
           "build()";
  case NativeCause::build_failed:
    return "building the engine failed, and is not tried again";
  case NativeCause::memory_limit:
    return "the engine does not fit within memory_limit";
  }
  return {};
}

CacheRules rules_of(const ConvertOptions& options, const ImportNode* node) {
  CacheRules rules = node ? rules_of(*node) : CacheRules();
  if (options.mode) rules.mode = options.mode;
  if (options.engine_shapes) rules.shapes = *options.engine_shapes;
  if (options.profile_strategy) {
    check(!options.engine_shapes || rules.shapes == EngineShapes::profiles, ErrorCode::invalid_argument,
          "profile_strategy: only engine_shapes profiles has profiles");
    rules.shapes = EngineShapes::profiles;
    rules.strategy = *options.profile_strategy;
  }
  const std::int32_t maximum = options.maximum_cached_engines.value_or(1);
  check(maximum > 0, ErrorCode::invalid_argument, "maximum_cached_engines {}: expected at least 1", maximum);
  if (options.maximum_cached_engines) rules.maximum = static_cast<std::size_t>(maximum);
  const std::int32_t batch = options.max_batch_size.value_or(1);
  check(batch > 0, ErrorCode::invalid_argument, "max_batch_size {}: expected at least 1", batch);
  if (options.max_batch_size) rules.max_batch = batch;
  if (options.allow_build_at_runtime) rules.build_at_run = *options.allow_build_at_runtime;
  return rules;
}

std::optional<NativeCause> refused(const CacheRules& rules, const PartShapes& shapes) {
  if (rules.shapes != EngineShapes::implicit_batch) return std::nullopt;
  for (const Shape& shape : shapes) {
    if (shape.rank() == 0) return NativeCause::scalar_input;
    if (shapes.front().rank() > 0 && shape[0] != shapes.front()[0]) return NativeCause::unequal_batch;
  }
  return std::nullopt;
}

bool serves(const ServedShapes& served, const PartShapes& shapes) {
  if (served.size() != shapes.size()) return false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto& [min, opt, max] = served[i];
    if (max.rank() != shapes[i].rank()) return false;
    for (std::size_t d = 0; d < max.rank(); ++d)
      if (shapes[i][d] < min[d] || shapes[i][d] > max[d]) return false;
  }
  return true;
}

double size_of(const ServedShapes& served) {
  double sum = 0;
  for (const ShapeRange& range : served) {
    double elements = 1;
    for (const std::int64_t size : range.max) elements *= static_cast<double>(size);
    sum += elements;
  }
  return sum;
}

PartShapes opt_of(const ServedShapes& served) {
  PartShapes shapes;
  for (const ShapeRange& range : served) shapes.push_back(range.opt);
  return shapes;
}

ServedShapes served_by(const CacheRules& rules, const PartShapes& shapes) {
  if (rules.shapes == EngineShapes::profiles) return profiles_of(rules.strategy, {shapes}).front();
  return from_batch(shapes, 0);
}

std::vector<ServedShapes> profiles_of(ProfileStrategy strategy, const std::vector<PartShapes>& seen) {
  std::vector<ServedShapes> profiles;
  if (strategy == ProfileStrategy::range || strategy == ProfileStrategy::range_optimal)
    profiles = ranges_of(seen);
  for (const PartShapes& shapes : seen) {
    if (strategy == ProfileStrategy::implicit_batch_compatible) profiles.push_back(from_batch(shapes, 1));
    if (strategy == ProfileStrategy::optimal || strategy == ProfileStrategy::range_optimal) {
      ServedShapes& served = profiles.emplace_back();
      for (const Shape& shape : shapes) served.push_back(ShapeRange::fixed(shape));
    }
  }
  return profiles;
}

std::optional<PartShapes> static_shapes(const std::vector<Type>& types, std::int64_t batch) {
  PartShapes shapes;
  for (const Type& type : types) {
    if (!type.ranked()) return std::nullopt;
    Shape& shape = shapes.emplace_back();
    for (std::size_t d = 0; d < type.rank(); ++d) {
      const auto size = type.dims()[d].constant();
      if (!size && d > 0) return std::nullopt;
      shape.push_back(size.value_or(batch));
    }
  }
  return shapes;
}

std::string shapes_text(const PartShapes& shapes) {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes) texts.push_back(shape.to_string());
  return joined(texts, ", ");
}

std::string to_json(const std::vector<ServedShapes>& entries) {
  Json all = Json::array();
  for (const ServedShapes& served : entries) {
    Json entry = Json::array();
    for (const auto& [min, opt, max] : served)
      entry.push_back({{"min", dims_of(min)}, {"opt", dims_of(opt)}, {"max", dims_of(max)}});
    all.push_back(std::move(entry));
  }
  return json_text(all);
}

std::vector<ServedShapes> parse_entries(const std::string& text, std::size_t inputs) {
  try {
    std::vector<ServedShapes> entries;
    for (const Json& entry : parse_json(text)) {
      check(entry.size() == inputs, ErrorCode::bad_data, "{} inputs, expected {}", entry.size(), inputs);
      ServedShapes& served = entries.emplace_back();
      for (const Json& range : entry) served.push_back(range_of(range));
    }
    return entries;
  } catch (const Json::exception& error) {
    fail(ErrorCode::bad_data, "{}: {}", profiles_attribute, one_line(error.what(), 200));
  } catch (const Error& error) {
    throw error.within(profiles_attribute);
  }
}

} // namespace lanner::tf
