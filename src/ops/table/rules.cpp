#include "ops/table/rules.h"

#include "ops/definition/bounds.h"

namespace lanner::ops {

OperandSpec any_operand(std::string name) {
  return {std::move(name), dtypes::any, 0, {}, OperandForm::item};
}

OperandSpec sequence_operand() {
  return {"sequence", dtypes::any, 0, {}, OperandForm::sequence};
}

OperandSpec one_element(std::string name, DTypeSet types, char group) {
  return {std::move(name), types, group, ShapePattern::one()};
}

OperandSpec list_of_counts(std::string name) {
  return {std::move(name), dtypes::counts};
}

std::vector<OperandSpec> same_types(DTypeSet types, std::vector<std::string> names) {
  std::vector<OperandSpec> operands;
  for (std::string& name : names) operands.push_back({std::move(name), types, 'T'});
  return operands;
}

static AttributeRule stated() {
  AttributeRule rule;
  rule.stated = true;
  return rule;
}

AttributeRule between(std::int64_t least, std::int64_t most) {
  AttributeRule rule = stated();
  rule.least = least;
  rule.most = most;
  return rule;
}

AttributeRule at_least(std::int64_t least) {
  AttributeRule rule = stated();
  rule.least = least;
  return rule;
}

AttributeRule any_integer() {
  return stated();
}

AttributeRule axis_range() {
  constexpr std::int64_t most = 1024; // Far above any limit on ranks.
  return between(-most, most);
}

AttributeRule yes_or_no() {
  return between(0, 1);
}

AttributeRule window_range(std::int64_t least) {
  return between(least, largest_window_size);
}

static AttributeRule reals(double least, double most) {
  AttributeRule rule = stated();
  rule.least_real = least;
  rule.most_real = most;
  return rule;
}

AttributeRule finite() {
  return finite_from(std::numeric_limits<double>::lowest());
}

AttributeRule finite_from(double least) {
  return reals(least, std::numeric_limits<double>::max());
}

AttributeRule no_nan() {
  return stated();
}

AttributeRule one_of(std::vector<std::string> choices) {
  AttributeRule rule = stated();
  rule.choices = std::move(choices);
  return rule;
}

AttributeRule any_text() {
  return stated();
}

AttributeRule element_types(DTypeSet types) {
  AttributeRule rule = stated();
  rule.types = types;
  return rule;
}

AttributeRule any_value() {
  return stated();
}

} // namespace lanner::ops
