// Writes plans; plan_file.cpp reads them.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/version.h>

#include "base/hash.h"
#include "base/limits/account.h"
#include "base/text/json.h"
#include "engine/caller_options.h"
#include "engine/explain.h"
#include "engine/initialisers.h"
#include "engine/plan_file/plan_file.h"
#include "engine/plan_file/plan_layout.h"
#include "engine/profiles.h"
#include "graph/text/text.h"
#include "ops/table/custom.h"

namespace lanner {
namespace {

using Json = nlohmann::ordered_json;
using SavedVariant = std::pair<VariantKey, MadeVariantPtr>;
/// Identity of a tensor's memory in its layout.
using Memory = std::tuple<const void*, DType, std::string, std::string>;

/// Literals up to this size are inline in the text, as in the printer.
constexpr std::int64_t max_inline = 16;

Memory memory_of(const Tensor& tensor) {
  return {tensor.data(), tensor.dtype(), tensor.shape().to_string(), tensor.layout().to_string()};
}

Json shapes_json(const InputShapes& shapes) {
  Json json = Json::array();
  for (const Shape& shape : shapes) json.push_back(shape.dims());
  return json;
}

/// Collects the contents of the file.
class PlanWriter {
public:
  /// `variants`: that of the opt shapes first, if there is one.
  PlanWriter(const EngineState& state, const SaveOptions& options, std::vector<SavedVariant> variants)
      : state_(state), variants_(std::move(variants)), options_(options) {}

  void write(const std::filesystem::path& path) {
    for (const auto& [key, made] : variants_) gather(made->program->graph(), false);
    gather(*state_.graph, true);
    for (const auto& [key, made] : variants_) gather_operators(made->program->graph().body());
    gather_operators(state_.graph->body());
    gather_sources();
    for (const Entry& entry : entries_) add_weight(entry);
    add_defaults();
    add_text("ir", text_of(*state_.graph));
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      const MadeVariant& made = *variants_[i].second;
      add_text(plan_part("lowered", i), text_of(made.program->graph()));
      add_text(plan_part("reports", i), reports_json(made.reports));
    }
    std::vector<SafetensorsItem> items;
    for (const auto& [name, tensor, type, shape] : blobs_)
      items.push_back(
          {name, type, shape, std::span(static_cast<const std::byte*>(tensor.data()), tensor.bytes())});
    SafetensorsMetadata metadata{{plan_key, fmt::format("{}", plan_version)},
                                 {"lanner.version", std::string(version())},
                                 {target_key, target_json()},
                                 {weights_key, exact_json_text(weights_)}};
    if (variants_.size() > variants_in_target()) metadata[variants_key] = variants_json();
    if (!operators_.empty()) metadata[operators_key] = exact_json_text(operators_);
    std::uint64_t all = 0, done = 0; // each is hashed and written
    for (const SafetensorsItem& item : items) all += 2 * item.bytes.size();
    const auto report = [&](std::uint64_t bytes) {
      done += bytes;
      options_.control.report({"save", static_cast<double>(done), static_cast<double>(all), "bytes"});
    };
    metadata[digest_key] = plan_digest(metadata, items, report);
    write_safetensors(path, items, metadata, report);
  }

private:
  struct Blob {
    std::string name;
    Tensor tensor;
    DType type;
    Shape shape;
  };
  /// A constant that is in the file once, for all graphs and storages.
  struct Entry {
    std::string name;
    std::shared_ptr<const StoredConstant> constant;
    Tensor form;           ///< The written form: in the layout of the first kernel that reads this type.
    bool portable = false; ///< Whether the portable graph reads it.
  };

  void gather(const Graph& graph, bool portable) {
    for_each_constant(graph.body(), [&](const Node& node) {
      check_deadline();
      gather(*node.output()->constant(), portable);
    });
  }

  void gather_operators(const Region& region) {
    for (const auto& node : region.nodes()) {
      if (const CustomOperator* op = custom_operator(node->op())) operators_[op->name()] = op->version();
      for (const auto& inner : node->regions()) gather_operators(*inner);
    }
  }

  void gather(const Tensor& tensor, bool portable) {
    const auto known = entry_of_.find(memory_of(tensor));
    if (!portable && known != entry_of_.end()) return;
    auto constant = state_.constants().find(tensor);
    if (!constant && known != entry_of_.end()) {
      entries_[known->second].portable = true;
      return;
    }
    if (!constant) constant = std::make_shared<const StoredConstant>(StoredConstant{{}, tensor});
    if (constant->recipe.literal() && tensor.layout().row_major() && tensor.elements() <= max_inline) return;
    const std::size_t number = number_of(constant);
    Entry& entry = entries_[number];
    entry.portable = entry.portable || portable;
    if (!entry.form.defined() && tensor.dtype() == constant->value.dtype()) entry.form = tensor;
    entry_of_[memory_of(tensor)] = number;
  }

  /// Adds small source weights that others were folded with.
  void gather_sources() {
    for (const auto& constant : state_.constants().of_weights())
      if (!constant->recipe.weight.empty()) {
        number_of(constant);
        held_.insert(constant->recipe.weight);
      }
  }

  /// Index of the constant's entry.
  std::size_t number_of(const std::shared_ptr<const StoredConstant>& constant) {
    const auto [entry, fresh] = numbers_.emplace(constant.get(), entries_.size());
    if (fresh) entries_.push_back({fmt::format("w{}", entries_.size()), constant, {}, false});
    return entry->second;
  }

  void add_weight(const Entry& entry) {
    check_deadline();
    const Recipe& recipe = entry.constant->recipe;
    const Tensor& tensor = entry.form.defined() ? entry.form : entry.constant->value;
    const bool stripped = !options_.weights && !recipe.literal() && !recipe.lost();
    const bool computed = !stripped && is_computed(entry);
    const bool plain = stripped || computed || tensor.layout().row_major();
    Json facts{{"dtype", to_string(tensor.dtype())},
               {"shape", tensor.shape().dims()},
               {"layout", plain ? "row" : tensor.layout().to_string()}};
    if (!recipe.weight.empty()) facts["weight"] = recipe.weight;
    if (!recipe.expression.empty()) facts["recipe"] = recipe.expression;
    if (stripped) facts["stripped"] = true;
    if (computed) facts["computed"] = true;
    append(weights_, entry.name, std::move(facts));
    if (!stripped && !computed) add_tensor(entry.name, tensor);
  }

  /// Adds default values of inputs to the table of weights; they have no recipe.
  void add_defaults() {
    for (std::size_t i = 0; i < state_.defaults.size(); ++i) {
      const Tensor& tensor = state_.defaults[i];
      if (!tensor.defined()) continue;
      const std::string name = fmt::format("default{}", i);
      append(weights_, name,
             {{"dtype", to_string(tensor.dtype())}, {"shape", tensor.shape().dims()}, {"layout", "row"}});
      append(defaults_, state_.inputs[i].name, name);
      add_tensor(name, tensor);
    }
  }

  /// Whether loading computes it from smaller source weights that are in the file anyway: quantised weights.
  bool is_computed(const Entry& entry) const {
    const Recipe& recipe = entry.constant->recipe;
    if (entry.portable || recipe.expression.empty() || recipe.lost()) return false;
    std::uint64_t bytes = 0;
    const Type type = entry.constant->type();
    for (const auto& [name, source] : sources_of(recipe, type, state_.graph->ops(), state_.limits)) {
      if (!held_.contains(name)) return false;
      bytes += Layout{}.bytes(source.shape(), source.dtype());
    }
    return bytes < Layout{}.bytes(type.shape(), type.dtype());
  }

  void add_tensor(const std::string& name, const Tensor& tensor) {
    if (tensor.dtype() == DType::string)
      return add_text(name, exact_json_text(Json(std::vector<std::string>(tensor.as<std::string>().begin(),
                                                                          tensor.as<std::string>().end()))));
    const bool plain = tensor.layout().row_major() && safetensors_has(tensor.dtype());
    const auto bytes = static_cast<std::int64_t>(tensor.bytes());
    blobs_.push_back(
        {name, tensor, plain ? tensor.dtype() : DType::u8, plain ? tensor.shape() : Shape{bytes}});
  }

  void add_text(std::string name, const std::string& text) {
    Tensor tensor = Tensor::allocate(DType::u8, {static_cast<std::int64_t>(text.size())});
    std::ranges::copy(std::as_bytes(std::span(text)), static_cast<std::byte*>(tensor.data()));
    blobs_.push_back({std::move(name), tensor, DType::u8, tensor.shape()});
  }

  /// The graph's text without recipes, which are in the table of weights.
  std::string text_of(const Graph& graph) const {
    const std::unique_ptr<Graph> bare = graph.clone();
    for_each_constant(bare->body(), [](Node& node) { set_recipe(node, {}); });
    PrintOptions options;
    options.name_constant = [this](const Value&, const Tensor& tensor) {
      const auto found = entry_of_.find(memory_of(tensor));
      return found == entry_of_.end() ? ""
                                      : fmt::format("file(\"plan\", \"{}\")", entries_[found->second].name);
    };
    return print(*bare, options);
  }

  static void add_placement(Json& json, const Target& target) {
    for (const Device device : target.placement.devices)
      json["further"].push_back({{"device", device.to_string()}, {"isa", target.on(device).isa}});
    for (const PlacedNodes& placed : target.placement.nodes)
      json["placed"].push_back({{"pattern", placed.pattern}, {"device", placed.device.to_string()}});
    if (target.placement.strict) json["strictly_placed"] = true;
  }

  std::string target_json() const {
    const Precision& precision = state_.target.precision;
    std::vector<std::string> precisions;
    for (DType type : precision.types) precisions.emplace_back(to_string(type));
    Json json{{"device", state_.target.device.to_string()},
              {"isa", state_.target.isa},
              {"threads", state_.target.threads},
              {"precisions", precisions},
              {"deterministic", state_.target.deterministic},
              {"budget", state_.target.deterministic ? 0 : state_.budget}, // times nothing
              {"shapes", state_.opt ? shapes_json(*state_.opt) : Json()}};
    for (const PrecisionPin& pin : precision.pins)
      json["pins"].push_back({{"pattern", pin.pattern}, {"type", to_string(pin.type)}});
    if (precision.strict) json["strict"] = true;
    if (precision.exact) json["exact"] = true;
    add_placement(json, state_.target);
    if (!state_.profiles.empty()) json["profiles"] = profiles_json(state_.profiles);
    write_callers(state_, json);
    write_initialisers(state_.initialisers, json);
    if (!defaults_.empty()) json["defaults"] = defaults_;
    return exact_json_text(json);
  }

  /// Number of variants described in the target: that of the opt shapes, if there is one.
  std::size_t variants_in_target() const { return state_.opt ? 1 : 0; }

  std::string variants_json() const {
    Json json = Json::array();
    for (std::size_t i = variants_in_target(); i < variants_.size(); ++i)
      json.push_back(
          {{"shapes", shapes_json(variants_[i].first.shapes)}, {"threads", variants_[i].first.threads}});
    return exact_json_text(json);
  }

  const EngineState& state_;
  std::vector<SavedVariant> variants_;
  std::vector<Blob> blobs_;
  const SaveOptions& options_;
  std::vector<Entry> entries_;
  std::map<const StoredConstant*, std::size_t> numbers_; ///< Of `entries_`.
  std::set<std::string> held_;                           ///< Source weights whose values are in the file.
  std::map<Memory, std::size_t> entry_of_; ///< By memory of a graph's tensor: the entry that it is a form of.
  Json weights_ = Json::object(), operators_ = Json::object(), defaults_ = Json::object();
};

/// The variants made ahead, in a deterministic order, the build's first.
std::vector<SavedVariant> saved_variants(const EngineState& state) {
  std::vector<SavedVariant> saved;
  for (const VariantKey& key : state.opt_variants())
    saved.emplace_back(key, state.variant(key.shapes, key.threads));
  // A program that serves several numbers of threads is saved once.
  const auto known = [&](const MadeVariant& made) {
    return std::ranges::any_of(saved,
                               [&](const SavedVariant& one) { return one.second->program == made.program; });
  };
  for (SavedVariant& entry : state.variants().list())
    if (entry.second->ahead && !known(*entry.second)) saved.push_back(std::move(entry));
  return saved;
}

} // namespace

std::string plan_part(const char* part, std::size_t variant) {
  return variant == 0 ? std::string(part) : fmt::format("{}.{}", part, variant);
}

std::string plan_digest(const SafetensorsMetadata& metadata, std::span<const SafetensorsItem> items,
                        const BytesDone& done) {
  Hasher hasher;
  for (const auto& [key, value] : metadata)
    if (key != digest_key) hasher.update(fmt::format("{}={};", key, value));
  for (const SafetensorsItem& item : items) {
    check_deadline();
    hasher.update(fmt::format("{}:{}{};", item.name, to_string(item.dtype), item.shape.to_string()));
    for_each_part(item.bytes, done, [&](std::span<const std::byte> part) { hasher.update(part); });
  }
  return hasher.hex();
}

void save_plan(const EngineState& state, const std::filesystem::path& path, const SaveOptions& options) {
  const DeadlineScope deadline(state.limits, options.control.cancel);
  PlanWriter(state, options, saved_variants(state)).write(path);
}

} // namespace lanner
