// Activations that exporters spell out become one node, for which there are kernels.

#include <algorithm>
#include <array>

#include "passes/passes.h"
#include "passes/rewriting/pattern.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

struct Rule {
  std::string_view after;  ///< Operator and attributes of the replacement.
  std::string_view before; ///< Nodes that compute %y from %x.
};

constexpr std::string_view zero_to_six = R"(
  %three: f32[] = constant() {value = f32[](3.0)}
  %zero: f32[] = constant() {value = f32[](0.0)}
  %six: f32[] = constant() {value = f32[](6.0)}
  %sixth: f32[] = constant() {value = f32[](0.16666667)}
  %moved: f32[] = add(%x, %three)
  %clipped: f32[] = clip(%moved, %zero, %six)
)";
constexpr std::string_view erf_parts = R"(
  %half: f32[] = constant() {value = f32[](0.5)}
  %one: f32[] = constant() {value = f32[](1.0)}
  %root: f32[] = constant() {value = f32[](1.4142135)}
  %inverse: f32[] = constant() {value = f32[](0.70710677)}
)";
constexpr std::string_view tanh_parts = R"(
  %half: f32[] = constant() {value = f32[](0.5)}
  %one: f32[] = constant() {value = f32[](1.0)}
  %three: f32[] = constant() {value = f32[](3.0)}
  %cubic: f32[] = constant() {value = f32[](0.044715)}
  %slope: f32[] = constant() {value = f32[](0.7978846)}
)";
constexpr std::string_view tanh_of_cube = R"(
  %a: f32[] = mul(%cube, %cubic)
  %b: f32[] = add(%x, %a)
  %c: f32[] = mul(%b, %slope)
  %d: f32[] = tanh(%c)
  %e: f32[] = add(%d, %one)
)";

/// Ways to spell `x * half * factor`, given `%e` computed from %x.
constexpr std::array<std::string_view, 3> halved_products = {
    "%f: f32[] = mul(%x, %e) %y: f32[] = mul(%f, %half)",
    "%f: f32[] = mul(%x, %half) %y: f32[] = mul(%f, %e)",
    "%f: f32[] = mul(%e, %half) %y: f32[] = mul(%x, %f)",
};

Pattern pattern(std::string_view before, std::string_view after) {
  return Pattern(fmt::format("graph @before(%x: f32[]) -> (%y) {{ {} }}", before),
                 fmt::format("graph @after(%x: f32[]) -> (%y) {{ %y: f32[] = {} }}", after));
}

void add_gelu(std::vector<Pattern>& patterns) {
  for (std::string_view product : halved_products) {
    for (std::string_view scaled : {"%a: f32[] = div(%x, %root)", "%a: f32[] = mul(%x, %inverse)"})
      patterns.push_back(pattern(
          fmt::format("{}{} %b: f32[] = erf(%a) %e: f32[] = add(%b, %one) {}", erf_parts, scaled, product),
          "gelu(%x)"));
    for (std::string_view cube :
         {"%cube: f32[] = pow(%x, %three)", "%s: f32[] = mul(%x, %x) %cube: f32[] = mul(%s, %x)"})
      patterns.push_back(pattern(fmt::format("{}{}{}{}", tanh_parts, cube, tanh_of_cube, product),
                                 "gelu(%x) {approximate = \"tanh\"}"));
  }
}

void add_hard(std::vector<Pattern>& patterns) {
  constexpr std::string_view hard_swish = "hard_swish(%x)",
                             hard_sigmoid = "hard_sigmoid(%x) {alpha = 0.16666666666666666, beta = 0.5}";
  for (std::string_view tail : {"%s: f32[] = div(%clipped, %six) %y: f32[] = mul(%x, %s)",
                                "%s: f32[] = mul(%clipped, %sixth) %y: f32[] = mul(%x, %s)",
                                "%s: f32[] = mul(%x, %clipped) %y: f32[] = div(%s, %six)",
                                "%s: f32[] = mul(%x, %clipped) %y: f32[] = mul(%s, %sixth)"})
    patterns.push_back(pattern(fmt::format("{}{}", zero_to_six, tail), hard_swish));
  for (std::string_view tail : {"%y: f32[] = div(%clipped, %six)", "%y: f32[] = mul(%clipped, %sixth)"})
    patterns.push_back(pattern(fmt::format("{}{}", zero_to_six, tail), hard_sigmoid));
  patterns.push_back(pattern(
      "%s: f32[] = hard_sigmoid(%x) {alpha = 0.16666666666666666, beta = 0.5} %y: f32[] = mul(%x, %s)",
      hard_swish));
}

constexpr Rule simple_rules[] = {
    {"swish(%x)", "%s: f32[] = sigmoid(%x) %y: f32[] = mul(%x, %s)"},
    {"mish(%x)", "%s: f32[] = softplus(%x) %t: f32[] = tanh(%s) %y: f32[] = mul(%x, %t)"},
    {"relu(%x)", "%zero: f32[] = constant() {value = f32[](0.0)} %y: f32[] = max(%x, %zero)"},
    {"relu(%x)", "%zero: f32[] = constant() {value = f32[](0.0)} %y: f32[] = clip(%x, %zero)"},
    {"softplus(%x)", "%one: f32[] = constant() {value = f32[](1.0)} %e: f32[] = exp(%x) %s: f32[] = add(%e, "
                     "%one) %y: f32[] = log(%s)"},
    {"sigmoid(%x)", "%one: f32[] = constant() {value = f32[](1.0)} %n: f32[] = neg(%x) %e: f32[] = exp(%n)"
                    " %s: f32[] = add(%e, %one) %y: f32[] = div(%one, %s)"},
    {"sigmoid(%x)", "%one: f32[] = constant() {value = f32[](1.0)} %n: f32[] = neg(%x) %e: f32[] = exp(%n)"
                    " %s: f32[] = add(%e, %one) %y: f32[] = reciprocal(%s)"},
};

/// Keyed by the operator they end with. hard_swish need not precede the hard_sigmoid within it: roots come
/// last.
using Patterns = std::unordered_multimap<std::string, Pattern>;

Patterns make_patterns() {
  std::vector<Pattern> all;
  for (const Rule& rule : simple_rules) all.push_back(pattern(rule.before, rule.after));
  add_gelu(all);
  add_hard(all);
  Patterns by_root;
  for (Pattern& each : all) {
    std::string root = each.root();
    by_root.emplace(std::move(root), std::move(each));
  }
  return by_root;
}

} // namespace

bool recognise_activations(Graph& graph) {
  static const Patterns patterns = make_patterns();
  return for_each_node(graph, [](Node& node) {
    const auto [begin, end] = patterns.equal_range(node.kind());
    return std::any_of(begin, end, [&](const auto& entry) { return entry.second.apply(node); });
  });
}

} // namespace lanner::passes
