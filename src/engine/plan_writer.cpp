// Plans as they are written; plan_file.cpp reads them.

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/version.h>

#include "base/hash.h"
#include "engine/explain.h"
#include "engine/plan_file.h"
#include "engine/plan_layout.h"
#include "engine/profiles.h"
#include "graph/text.h"
#include "importers/importer.h"
#include "ops/custom.h"

namespace lanner {
namespace {

using Json = nlohmann::ordered_json;
using Entry = std::pair<VariantKey, SpecialisationPtr>;

Json shapes_json(const InputShapes& shapes) {
  Json json = Json::array();
  for (const Shape& shape : shapes) json.push_back(shape.dims());
  return json;
}

/// Gathers what goes into the file.
class PlanWriter {
public:
  /// `variants`: that of the opt shapes first.
  PlanWriter(const EngineState& state, std::vector<Entry> variants)
      : state_(state), variants_(std::move(variants)) {}

  void write(const std::filesystem::path& path) {
    for (const auto& [key, made] : variants_) add_constants(made->program->graph(), true);
    add_constants(*state_.graph, false);
    add_text("ir", text_of(*state_.graph));
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      const Specialisation& made = *variants_[i].second;
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
                                 {weights_key, weights_.dump()}};
    if (variants_.size() > 1) metadata[variants_key] = variants_json();
    if (!operators_.empty()) metadata[operators_key] = operators_.dump();
    metadata[digest_key] = plan_digest(metadata, items);
    write_safetensors(path, items, metadata);
  }

private:
  struct Blob {
    std::string name;
    Tensor tensor;
    DType type;
    Shape shape;
  };

  /// Every constant once, by its memory. A portable constant of which the lowered graph has a packed form is
  /// kept in that form.
  void add_constants(const Graph& graph, bool lowered) {
    for (const auto& node : graph.body().nodes()) add_constants(*node, lowered);
  }

  void add_constants(const Node& node, bool lowered) {
    if (const CustomOperator* op = custom_operator(node.op())) operators_[op->name()] = op->version();
    for (const auto& region : node.regions())
      for (const auto& inner : region->nodes()) add_constants(*inner, lowered);
    if (node.kind() != "constant") return;
    const Tensor& tensor = *node.output()->constant();
    if (names_.contains(tensor.data())) return;
    if (!lowered) {
      for (const void* packed : state_.packed_forms(tensor)) {
        const auto found = names_.find(packed);
        if (found == names_.end()) continue;
        names_[tensor.data()] = std::string(found->second);
        return;
      }
    }
    add_tensor(tensor);
  }

  void add_tensor(const Tensor& tensor) {
    const std::string name = fmt::format("w{}", weights_.size());
    names_[tensor.data()] = name;
    weights_[name] = {{"dtype", to_string(tensor.dtype())},
                      {"shape", tensor.shape().dims()},
                      {"layout", tensor.layout().row_major() ? "row" : tensor.layout().to_string()}};
    if (tensor.dtype() == DType::string)
      return add_text(name, Json(std::vector<std::string>(tensor.as<std::string>().begin(),
                                                          tensor.as<std::string>().end()))
                                .dump());
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

  std::string text_of(const Graph& graph) const {
    PrintOptions options;
    options.name_constant = [this](const Value&, const Tensor& tensor) {
      return fmt::format("file(\"plan\", \"{}\")", names_.at(tensor.data()));
    };
    return print(graph, options);
  }

  std::string target_json() const {
    std::vector<std::string> precisions;
    for (DType type : state_.target.precisions) precisions.emplace_back(to_string(type));
    Json json{{"device", state_.target.device.to_string()},
              {"isa", state_.target.isa},
              {"threads", state_.target.threads},
              {"precisions", precisions},
              {"deterministic", state_.target.deterministic},
              {"budget", state_.target.deterministic ? 0 : state_.budget}, // times nothing
              {"shapes", shapes_json(state_.opt)}};
    if (!state_.profiles.empty()) json["profiles"] = profiles_json(state_.profiles);
    return json.dump();
  }

  std::string variants_json() const {
    Json json = Json::array();
    for (std::size_t i = 1; i < variants_.size(); ++i)
      json.push_back(
          {{"shapes", shapes_json(variants_[i].first.shapes)}, {"threads", variants_[i].first.threads}});
    return json.dump();
  }

  const EngineState& state_;
  std::vector<Entry> variants_;
  std::vector<Blob> blobs_;
  std::map<const void*, std::string> names_;
  Json weights_ = Json::object(), operators_ = Json::object();
};

/// What was made ahead, in an order that only depends on that: of the build first.
std::vector<Entry> saved_variants(const EngineState& state) {
  std::vector<Entry> saved;
  for (const VariantKey& key : state.opt_variants())
    saved.emplace_back(key, state.specialise(key.shapes, key.threads));
  const std::size_t first = saved.size();
  const auto known = [&](const VariantKey& key) {
    return std::any_of(
        saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(first),
        [&](const Entry& one) { return one.first.threads == key.threads && one.first.shapes == key.shapes; });
  };
  for (Entry& entry : state.variants().list())
    if (entry.second->ahead && !known(entry.first)) saved.push_back(std::move(entry));
  return saved;
}

} // namespace

std::string plan_part(const char* part, std::size_t variant) {
  return variant == 0 ? std::string(part) : fmt::format("{}.{}", part, variant);
}

std::string plan_digest(const SafetensorsMetadata& metadata, std::span<const SafetensorsItem> items) {
  Hasher hasher;
  for (const auto& [key, value] : metadata)
    if (key != digest_key) hasher.update(fmt::format("{}={};", key, value));
  for (const SafetensorsItem& item : items) {
    hasher.update(fmt::format("{}:{}{};", item.name, to_string(item.dtype), item.shape.to_string()));
    hasher.update(item.bytes);
  }
  return hasher.hex();
}

void save_plan(const EngineState& state, const std::filesystem::path& path) {
  PlanWriter(state, saved_variants(state)).write(path);
}

} // namespace lanner
