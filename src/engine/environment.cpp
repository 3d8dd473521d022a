// Environment: copied when it is changed.

#include <lanner/environment.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/options.h"
#include "engine/environment_state.h"
#include "ops/custom.h"
#include "ops/table.h"

namespace lanner {
namespace {

std::shared_ptr<const EnvironmentState> default_state() {
  static const auto state =
      std::make_shared<const EnvironmentState>(EnvironmentState{builtin_op_table(), {}, {}});
  return state;
}

} // namespace

std::filesystem::path EnvironmentState::timing_cache() const {
  const std::filesystem::path& folder = cache_folder.empty() ? options().cache_folder : cache_folder;
  return folder.empty() ? folder : folder / "timing.txt";
}

Environment::Environment() : state_(default_state()) {}

/// A state of this environment's own.
EnvironmentState& Environment::changed() {
  auto made = std::make_shared<EnvironmentState>(*state_);
  EnvironmentState& state = *made;
  state_ = std::move(made);
  return state;
}

void Environment::add_operator(const lanner_operator& table) {
  auto op = std::make_shared<const CustomOperator>(table);
  check(!state_->ops.find(op->name()), ErrorCode::invalid_argument, "operator {}: the name is taken",
        op->name());
  EnvironmentState& state = changed();
  state.added.push_back(op->name());
  std::ranges::sort(state.added);
  state.ops.add(custom_op(std::move(op)));
}

std::vector<std::string> Environment::operators() const {
  std::vector<std::string> list;
  for (const std::string& name : state_->added)
    list.push_back(fmt::format("{} {}", name, custom_operator(state_->ops.get(name))->version()));
  return list;
}

void Environment::set_cache_folder(const std::filesystem::path& folder) {
  changed().cache_folder = folder;
}

} // namespace lanner
