#include "engine/profiles.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "engine/context/input_names.h"
#include "engine/context/pictures.h"
#include "engine/plan_file/plan_numbers.h"

namespace lanner {
namespace {

constexpr std::int64_t unbounded = INT64_MAX;

using Ranges = std::map<std::string, ShapeRange>;

std::string where(std::size_t number) {
  return fmt::format("profile {}", number + 1);
}

/// The min, opt or max shapes of a profile.
GivenShapes shapes_of(const ShapeProfile& profile, Shape ShapeRange::*end) {
  GivenShapes given;
  for (const auto& range : profile.ranges)
    given.push_back(range ? std::optional((*range).*end) : std::nullopt);
  return given;
}

/// The largest shapes of a profile, with opt sizes for those that have no bound.
GivenShapes largest_of(const ShapeProfile& profile) {
  GivenShapes given = shapes_of(profile, &ShapeRange::max);
  for (std::size_t i = 0; i < given.size(); ++i)
    for (std::size_t d = 0; given[i] && d < given[i]->rank(); ++d)
      if ((*given[i])[d] == unbounded) (*given[i])[d] = profile.ranges[i]->opt[d];
  return given;
}

/// Adds the opt shapes of inputs that the profile does not name.
ShapeProfile completed(const Graph& graph, ShapeProfile profile, const std::optional<InputShapes>& opt) {
  profile.opt = completed_shapes(graph, shapes_of(profile, &ShapeRange::opt), opt);
  return profile;
}

ShapeProfile checked_profile(const Graph& graph, const Ranges& ranges,
                             const std::optional<InputShapes>& opt) {
  check(!ranges.empty(), ErrorCode::invalid_argument,
        "no shape is given; expected a min, opt and max one of at least one input");
  ShapeProfile profile;
  profile.ranges.resize(graph.body().parameters().size());
  for (const auto& [name, range] : ranges) {
    const std::size_t i = input_number(graph, name);
    const Value& input = *graph.body().parameter(i);
    const ShapeRange whole{shape_of_records(input, range.min), shape_of_records(input, range.opt),
                           shape_of_records(input, range.max)};
    check_range(input, whole);
    profile.ranges[i] = whole;
  }
  return completed(graph, std::move(profile), opt);
}

} // namespace

bool ShapeProfile::holds(const InputShapes& shapes) const {
  const auto inside = [](const ShapeRange& range, const Shape& shape) {
    if (shape.rank() != range.opt.rank()) return false;
    for (std::size_t d = 0; d < shape.rank(); ++d)
      if (shape[d] < range.min[d] || shape[d] > range.max[d]) return false;
    return true;
  };
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i] && !inside(*ranges[i], shapes[i])) return false;
  return true;
}

std::optional<InputShapes> ShapeProfile::max(const Graph& graph) const {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Type& type = graph.body().parameter(i)->type;
    if (!ranges[i] && type.is_tensor() && !type.is_static()) return std::nullopt;
    if (ranges[i] && std::ranges::find(ranges[i]->max, unbounded) != ranges[i]->max.end())
      return std::nullopt;
  }
  return completed_shapes(graph, shapes_of(*this, &ShapeRange::max), opt);
}

void check_range(const Value& input, const ShapeRange& range) {
  check(input.type.is_tensor(), ErrorCode::invalid_argument, "input {}: a shape was given for a sequence",
        input.name());
  const std::size_t rank = range.opt.rank();
  check_rank(rank, "input " + input.name());
  check(range.min.rank() == rank && range.max.rank() == rank, ErrorCode::invalid_argument,
        "input {}: min, opt and max shape differ in rank", input.name());
  check(!input.type.ranked() || input.type.rank() == rank, ErrorCode::invalid_argument,
        "input {}: the model says {}, the shape given is {}", input.name(), input.type.to_string(),
        range.opt.to_string());
  for (std::size_t d = 0; d < rank; ++d)
    check(range.min[d] >= 0 && range.min[d] <= range.opt[d] && range.opt[d] <= range.max[d],
          ErrorCode::invalid_argument, "input {}: dim {}: expected min <= opt <= max, got {}, {}, {}",
          input.name(), d, range.min[d], range.opt[d], range.max[d]);
}

void apply_ranks(Graph& graph, std::span<const Ranges> profiles) {
  if (profiles.empty()) return;
  for (const auto& input : graph.body().parameters()) {
    if (!input->type.is_tensor() || input->type.ranked()) continue;
    const auto first = profiles[0].find(input->name());
    if (first == profiles[0].end()) continue;
    const std::size_t rank = first->second.opt.rank();
    const bool all = std::ranges::all_of(profiles, [&](const Ranges& ranges) {
      const auto found = ranges.find(input->name());
      return found != ranges.end() && found->second.opt.rank() == rank;
    });
    if (!all) continue;
    check_rank(rank, "input " + input->name());
    Dims dims;
    for (std::size_t d = 0; d < rank; ++d) dims.push_back(graph.fresh_symbol(input->name(), INT64_MAX));
    input->type = Type(input->type.dtype(), dims);
  }
}

std::vector<ShapeProfile> checked_profiles(const Graph& graph, std::span<const Ranges> profiles,
                                           const std::optional<InputShapes>& opt) {
  check(profiles.size() <= max_profiles, ErrorCode::invalid_argument,
        "{} profiles are given, expected at most {}", profiles.size(), max_profiles);
  std::vector<ShapeProfile> checked;
  for (const Ranges& ranges : profiles) {
    const std::optional<InputShapes> base = opt || checked.empty() ? opt : checked.front().opt;
    checked.push_back(with_context([&] { return where(checked.size()); },
                                   [&] { return checked_profile(graph, ranges, base); }));
  }
  return checked;
}

void check_profile_ends(const Graph& graph, std::span<const ShapeProfile> profiles) {
  for (std::size_t i = 0; i < profiles.size(); ++i)
    with_context([&] { return where(i); },
                 [&] {
                   for (const GivenShapes& given :
                        {shapes_of(profiles[i], &ShapeRange::min), largest_of(profiles[i])}) {
                     const auto shapes = completed_shapes(graph, given, profiles[i].opt);
                     if (!shapes || shapes != profiles[i].opt)
                       graph_at(graph, shapes ? given_shapes(graph, *shapes) : given);
                   }
                 });
}

nlohmann::ordered_json profiles_json(std::span<const ShapeProfile> profiles) {
  auto json = nlohmann::ordered_json::array();
  for (const ShapeProfile& profile : profiles) {
    auto& ranges = json.emplace_back(nlohmann::ordered_json::array());
    for (const auto& range : profile.ranges) {
      if (range)
        ranges.push_back({range->min.dims(), range->opt.dims(), range->max.dims()});
      else
        ranges.push_back(nullptr);
    }
  }
  return json;
}

std::vector<ShapeProfile> parse_profiles(const nlohmann::json& json, const Graph& graph,
                                         const std::optional<InputShapes>& opt) {
  const std::size_t inputs = graph.body().parameters().size();
  check(json.size() <= max_profiles, ErrorCode::bad_data, "the plan has {} profiles, expected at most {}",
        json.size(), max_profiles);
  std::vector<ShapeProfile> profiles;
  for (const auto& entry : json) {
    ShapeProfile profile;
    for (const auto& ends : entry) {
      auto& range = profile.ranges.emplace_back();
      if (ends.is_null()) continue;
      const auto shape = [&](std::size_t end) { return plan_shape(ends.at(end), current_limits().rank); };
      range = ShapeRange{shape(0), shape(1), shape(2)};
      check(profile.ranges.size() <= inputs, ErrorCode::bad_data, "a profile has too many ranges");
      check_range(*graph.body().parameter(profile.ranges.size() - 1), *range);
    }
    check(profile.ranges.size() == inputs, ErrorCode::bad_data, "a profile has {} ranges for {} inputs",
          profile.ranges.size(), inputs);
    profiles.push_back(completed(graph, std::move(profile), opt));
  }
  return profiles;
}

} // namespace lanner
