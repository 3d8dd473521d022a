#include "backends/custom/custom_backend.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "backends/custom/custom_kernel.h"
#include "backends/estimate.h"
#include "backends/given_layout.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "graph/infer.h"
#include "ops/table/custom.h"

namespace lanner {
namespace {

/// The first part of a tactic's config.
struct ConfigHead {
  std::uint32_t version;
  std::int32_t combination;
};

std::vector<std::byte> config_of(const ConfigHead& head, std::span<const std::byte> state) {
  std::vector<std::byte> config(sizeof head + state.size());
  std::memcpy(config.data(), &head, sizeof head);
  std::ranges::copy(state, config.begin() + sizeof head);
  return config;
}

std::optional<ConfigHead> head_of(std::span<const std::byte> config) {
  ConfigHead head{};
  if (config.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, config.data(), sizeof head);
  return head;
}

/// Types and layouts come from the custom operator, which may be faulty.
Storage storage_of(const lanner_storage& given, const Value& value, const Target& target) {
  const Shape shape = value.type.shape();
  check(given.dtype >= 0 && given.dtype < static_cast<int>(dtype_count) && given.dtype != LANNER_STRING,
        ErrorCode::invalid_argument, "dtype {} of a storage: expected a numeric type", given.dtype);
  check(given.layout != nullptr, ErrorCode::invalid_argument, "a storage has no layout");
  const Layout layout = Layout::parse(given.layout);
  check(is_layout_of(layout, shape), ErrorCode::invalid_argument, "layout {} does not fit shape {}",
        given.layout, shape.to_string());
  Storage storage = target.storage();
  storage.layout = canonical(layout, shape);
  const auto type = static_cast<DType>(given.dtype);
  if (type != value.type.dtype()) storage.dtype = type;
  return storage;
}

/// Whether the build may store the value in that type.
bool allowed(const Storage& storage, const Value& value, const Target& target) {
  if (!storage.dtype) return true;
  const auto real = [](DType type) {
    return type == DType::f32 || type == DType::f16 || type == DType::bf16;
  };
  return real(*storage.dtype) && real(value.type.dtype()) && target.precision.allows(*storage.dtype);
}

class CustomBackend final : public Backend {
public:
  explicit CustomBackend(DeviceKind kind) : kind_(kind) {}
  std::string_view name() const override { return kind_ == DeviceKind::cpu ? "custom" : "custom_cuda"; }
  DeviceKind device() const override { return kind_; }
  bool fuses(std::span<const Node* const>, const Node&, const Target&) const override { return false; }

  TacticList tactics(const Node& node, const Target& target) const override {
    return offered(node, target,
                   [&](const CustomOperator& op, const CustomNode& shown, const CustomCombination& one) {
                     const ConfigHead head{op.version(), one.kernel.combination};
                     std::vector<std::byte> state;
                     if (op.serialises()) state = op.serialised(op.create(shown, one.kernel));
                     return std::optional(config_of(head, state));
                   });
  }

  /// The operator's own serialised state in the tactic is validated when the kernel is prepared.
  TacticList named_tactics(const Node& node, const Target& target) const override {
    const std::optional<ConfigHead> head = head_of(node.tactic.config);
    return offered(node, target,
                   [&](const CustomOperator& op, const CustomNode&, const CustomCombination& one) {
                     const bool same = head && head->version == op.version() &&
                                       head->combination == one.kernel.combination &&
                                       (op.serialises() || node.tactic.config.size() == sizeof *head);
                     return same ? std::optional(node.tactic.config) : std::nullopt;
                   });
  }

  std::unique_ptr<Kernel> prepare(const Node& node, const Tactic& tactic, std::span<const Tensor* const>,
                                  const Target& target) const override {
    const CustomOperator* op = custom_operator(node.op());
    const std::optional<ConfigHead> head = head_of(tactic.config);
    check(op && head, ErrorCode::internal, "{} is not a tactic of a custom operator", tactic.kernel);
    auto shown = std::make_unique<CustomNode>(node);
    for (CustomCombination& one : op->combinations(*shown, target.device, target.threads))
      if (one.kernel.combination == head->combination)
        return std::make_unique<CustomKernel>(node, *op, std::move(shown), std::move(one),
                                              std::span(tactic.config).subspan(sizeof *head));
    fail(ErrorCode::unsupported, "operator {}: combination {} no longer exists", op->name(),
         head->combination);
  }

private:
  /// The combinations for which `config` returns one.
  template<typename Config>
  TacticList offered(const Node& node, const Target& target, Config config) const {
    TacticList list;
    const CustomOperator* op = custom_operator(node.op());
    if (!op) return list;
    list.reason = why_not(node);
    if (!list.reason.empty()) return list;
    const CustomNode shown(node);
    for (const CustomCombination& one :
         op->combinations(shown, target.device, target.threads, &list.reason)) {
      Tactic tactic = with_context(
          [&] {
            return fmt::format("operator {}: supports: combination {}", op->name(), one.kernel.combination);
          },
          [&] { return stored(node, one, target); });
      if (!fits_policy(node, tactic, target)) {
        list.reason = fmt::format("combination {} stores values in a type that the build does not allow",
                                  one.kernel.combination);
        continue;
      }
      auto made = config(*op, shown, one);
      if (!made) continue;
      tactic.kernel = op->name();
      tactic.config = std::move(*made);
      tactic.estimate = estimate(node, target);
      list.tactics.push_back(std::move(tactic));
    }
    return list;
  }

  static std::string why_not(const Node& node) {
    const auto planned = [](const Value* value) { return !value || value->type.is_static(); };
    if (!std::ranges::all_of(node.inputs(), planned)) return "an input is not a tensor of known shape";
    if (!std::ranges::all_of(node.outputs(), [&](const auto& value) { return planned(value.get()); }))
      return "an output is not a tensor of known shape";
    if (!types_follow(node)) return "an output's size depends on data";
    return {};
  }

  static Tactic stored(const Node& node, const CustomCombination& one, const Target& target) {
    Tactic tactic;
    for (std::size_t i = 0; i < node.inputs().size(); ++i)
      tactic.inputs.push_back(node.input(i) ? storage_of(one.inputs.at(i), *node.input(i), target)
                                            : Storage{});
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      tactic.outputs.push_back(storage_of(one.outputs.at(i), *node.output(i), target));
    return tactic;
  }

  static bool fits_policy(const Node& node, const Tactic& tactic, const Target& target) {
    for (std::size_t i = 0; i < tactic.inputs.size(); ++i)
      if (node.input(i) && !allowed(tactic.inputs[i], *node.input(i), target)) return false;
    for (std::size_t i = 0; i < tactic.outputs.size(); ++i)
      if (!allowed(tactic.outputs[i], *node.output(i), target)) return false;
    return true;
  }

  /// Only the bytes read and written are known.
  static double estimate(const Node& node, const Target& target) {
    double bytes = 0;
    for (const Value* input : node.inputs())
      if (input) bytes += plain_bytes(*input);
    for (const auto& output : node.outputs()) bytes += plain_bytes(*output);
    return seconds_of({.bytes = bytes}, target);
  }

  DeviceKind kind_;
};

} // namespace

const Backend& custom_backend(DeviceKind kind) {
  static const CustomBackend host(DeviceKind::cpu), gpu(DeviceKind::cuda);
  return kind == DeviceKind::cpu ? host : gpu;
}

} // namespace lanner
