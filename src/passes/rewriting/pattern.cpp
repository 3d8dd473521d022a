#include "passes/rewriting/pattern.h"

#include <algorithm>
#include <cmath>

#include "base/limits/account.h"
#include "graph/copy.h"
#include "graph/op.h"
#include "graph/text/text.h"
#include "ops/definition/recipe.h"
#include "ops/table/table.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {
namespace {

/// Patterns live as long as the process, so their constants must not be charged to the engine that needs them
/// first.
std::unique_ptr<Graph> parsed(std::string_view text) {
  const AccountScope lasting(no_account());
  return parse_graph(text, builtin_op_table());
}

} // namespace

Pattern::Pattern(std::string_view before, std::string_view after)
    : before_(parsed(before)), after_(parsed(after)) {}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;

const Node& Pattern::last() const {
  return *before_->body().outputs()[0]->producer();
}

const std::string& Pattern::root() const {
  return last().kind();
}

static bool is_near(double a, double b, DType type) {
  const double tolerance = type == DType::f16 || type == DType::bf16 ? 2e-3 : 1e-5;
  return a == b || std::abs(a - b) <= tolerance * std::abs(b);
}

static bool same_number(const Value& pattern, const Value* value) {
  if (!value->type.is_tensor() || !is_float(value->type.dtype())) return false;
  const auto expected = constant_scalar(&pattern), found = constant_scalar(value);
  return expected && found && is_near(*found, *expected, value->type.dtype());
}

static bool same_value(const Attribute& a, const Attribute& b) {
  if (const double* x = std::get_if<double>(&a)) {
    const double* y = std::get_if<double>(&b);
    return y && is_near(*y, *x, DType::f32);
  }
  if (const auto* x = std::get_if<std::int64_t>(&a))
    return std::get_if<std::int64_t>(&b) && *x == std::get<std::int64_t>(b);
  if (const auto* x = std::get_if<std::string>(&a))
    return std::get_if<std::string>(&b) && *x == std::get<std::string>(b);
  return false;
}

static bool same_attributes(const Node& pattern, const Node& node) {
  return std::ranges::all_of(node.op().attributes, [&](const AttributeSpec& spec) {
    const Attribute* fallback = spec.fallback ? &*spec.fallback : nullptr;
    const Attribute* expected =
        pattern.attributes.has(spec.name) ? pattern.attributes.find(spec.name) : fallback;
    const Attribute* found = node.attributes.has(spec.name) ? node.attributes.find(spec.name) : fallback;
    return (!expected && !found) || (expected && found && same_value(*expected, *found));
  });
}

bool Pattern::match_inputs(const Node& pattern, const Node& node, Match& match, bool swapped) const {
  const std::size_t count = std::max(pattern.inputs().size(), node.inputs().size());
  for (std::size_t i = 0; i < count; ++i) {
    const Value* expected = pattern.input(swapped ? 1 - i : i);
    Value* found = node.input(i);
    if (!expected != !found) return false;
    if (expected && !this->match(*expected, found, match, true)) return false;
  }
  return true;
}

bool Pattern::match(const Value& pattern, Value* value, Match& match, bool inner) const {
  if (pattern.constant()) {
    if (!same_number(pattern, value)) return false;
    match[&pattern] = value;
    return true;
  }
  const auto bound = match.find(&pattern);
  if (bound != match.end()) return bound->second == value;
  const Node *expected = pattern.producer(), *found = value->producer();
  if (expected) {
    const bool alike = found && found->kind() == expected->kind() && found->regions().empty();
    if (!alike || (inner && value->uses().size() != pattern.uses().size()) ||
        !same_attributes(*expected, *found))
      return false;
    const bool commutes = expected->kind() == "add" || expected->kind() == "mul";
    Match attempt = match;
    if (match_inputs(*expected, *found, attempt, false)) {
      match = std::move(attempt);
    } else if (!commutes || !match_inputs(*expected, *found, match, true)) {
      return false;
    }
  }
  match[&pattern] = value;
  return true;
}

bool Pattern::apply(Node& node) const {
  Match found;
  if (node.outputs().size() != 1 || !match(*before_->body().outputs()[0], node.output(), found, false))
    return false;
  const Value* first = found.at(before_->body().parameter(0));
  if (!(first->type == node.output()->type) || !first->type.ranked()) return false;
  NodeCopier copier(*node.region(), &node);
  copier.convert_type = [&](const Type&) { return first->type; };
  for (std::size_t i = 0; i < after_->body().parameters().size(); ++i)
    copier.map(after_->body().parameter(i), found.at(before_->body().parameter(i)));
  Value* result = copier.copy_nodes(after_->body()).at(0);
  for (const auto& inner : before_->body().nodes()) {
    const auto matched = found.find(inner->output());
    if (matched == found.end()) continue;
    if (inner->output()->constant())
      note_decided(node.region()->graph(), matched->second);
    else
      take_sources(*result->producer(), *matched->second->producer());
  }
  node.output()->replace_all_uses(result);
  take_name(*result, *node.output());
  return true;
}

} // namespace lanner::passes
