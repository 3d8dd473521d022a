#include "engine/plan_file/plan_weights.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "backends/given_layout.h"
#include "base/check.h"
#include "base/text/json.h"
#include "engine/plan_file/plan_layout.h"
#include "engine/plan_file/plan_numbers.h"
#include "tensor/strings.h"

namespace lanner {
namespace {

Layout parsed_layout(const std::string& text, const Shape& shape) {
  if (text == "row") return {};
  Layout layout = Layout::parse(text);
  check_layout(layout, shape);
  return layout;
}

/// A copy at the alignment of `type` where needed: blocked layouts are stored as bytes, which a foreign file
/// may place at any offset.
Tensor aligned(const Tensor& raw, DType type) {
  const std::size_t alignment = std::clamp<std::size_t>(bit_width(type) / 8, 1, alignof(double));
  if (reinterpret_cast<std::uintptr_t>(raw.data()) % alignment == 0) return raw;
  return raw.clone();
}

Tensor string_tensor(std::span<const std::byte> bytes, const Shape& shape, const Limits& limits) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Tensor tensor = Tensor::from<std::string>(parse_json(text, limits).get<std::vector<std::string>>(), shape);
  own_characters(tensor);
  return tensor;
}

Tensor kept_value(const Safetensors& file, std::string_view name, const nlohmann::json& facts,
                  const PlanWeight& weight, const Limits& limits) {
  const SafetensorsEntry* entry = file.find(name);
  check(entry != nullptr, ErrorCode::bad_data, "weight '{}' is missing", name);
  const auto bytes = file.bytes(*entry);
  if (weight.dtype == DType::string) {
    check(entry->dtype == DType::u8, ErrorCode::bad_data, "weight '{}' is stored as {}, expected u8", name,
          to_string(entry->dtype));
    return string_tensor(bytes, weight.shape, limits);
  }
  const Layout layout = parsed_layout(facts.at("layout").get<std::string>(), weight.shape);
  check(bytes.size() == layout.bytes(weight.shape, weight.dtype), ErrorCode::bad_data,
        "weight '{}' has {} bytes, {}{} in layout {} takes {}", name, bytes.size(), to_string(weight.dtype),
        weight.shape.to_string(), layout.to_string(), layout.bytes(weight.shape, weight.dtype));
  const DType kept = layout.row_major() && safetensors_has(weight.dtype) ? weight.dtype : DType::u8;
  check(entry->dtype == kept, ErrorCode::bad_data, "weight '{}' is stored as {}, expected {}", name,
        to_string(entry->dtype), to_string(kept));
  if (weight.dtype == DType::boolean)
    for_each_part(bytes, {}, [&](std::span<const std::byte> part) {
      check(std::ranges::all_of(part, [](std::byte b) { return b <= std::byte{1}; }), ErrorCode::bad_data,
            "weight '{}' has a bool that is neither 0 nor 1", name);
    });
  const Tensor raw = aligned(file.tensor(name), weight.dtype);
  return Tensor::wrap(const_cast<void*>(raw.data()), weight.dtype, weight.shape, raw.owner(), layout);
}

PlanWeight read_weight(const Safetensors& file, const std::string& name, const nlohmann::json& facts,
                       const Limits& limits) {
  PlanWeight weight;
  weight.recipe = {facts.value("weight", std::string()), facts.value("recipe", std::string())};
  check(weight.recipe.weight.empty() || weight.recipe.expression.empty(), ErrorCode::bad_data,
        "weight '{}' is a source weight and has a recipe too", name);
  weight.dtype = parse_dtype(facts.at("dtype").get<std::string>());
  weight.shape = with_context([&] { return fmt::format("weight '{}'", name); },
                              [&] { return plan_shape(facts.at("shape"), limits.rank); });
  const bool stripped = facts.value("stripped", false);
  check(!stripped || !weight.recipe.literal(), ErrorCode::bad_data,
        "weight '{}' is missing and cannot be rebuilt: it has no source weight", name);
  weight.computed = facts.value("computed", false);
  check(!weight.computed || (!stripped && !weight.recipe.expression.empty()), ErrorCode::bad_data,
        "weight '{}' is to be computed, but has no recipe", name);
  if (!stripped && !weight.computed) weight.value = kept_value(file, name, facts, weight, limits);
  return weight;
}

} // namespace

void check_layout(const Layout& layout, const Shape& shape) {
  if (layout.row_major()) return;
  check(is_layout_of(layout, shape), ErrorCode::bad_data, "layout {} does not fit shape {}",
        layout.to_string(), shape.to_string());
}

std::map<std::string, PlanWeight, std::less<>> read_plan_weights(const Safetensors& file,
                                                                 const Limits& limits) {
  const auto found = file.metadata().find(weights_key);
  check(found != file.metadata().end(), ErrorCode::bad_data, "not a Lanner plan: metadata {} is missing",
        weights_key);
  const nlohmann::json table = parse_json(found->second, limits);
  check(table.is_object(), ErrorCode::bad_data, "the table of weights is not an object");
  std::map<std::string, PlanWeight, std::less<>> weights;
  std::set<Recipe> known;
  for (const auto& [name, facts] : table.items()) {
    check_deadline();
    PlanWeight weight = read_weight(file, name, facts, limits);
    check(weight.recipe.literal() || known.insert(weight.recipe).second, ErrorCode::bad_data,
          "weight '{}' is in the plan twice", name);
    weights.emplace(name, std::move(weight));
  }
  return weights;
}

} // namespace lanner
