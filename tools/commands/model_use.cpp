#include "commands/model_use.h"

#include <fmt/format.h>

#include <lanner/error.h>

namespace lanner::tool {
namespace {

/// Here an error (an undeclared option, for instance) is an answer.
bool is_answer(const Error& error) {
  return error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::bad_data ||
         error.code() == ErrorCode::unsupported;
}

} // namespace

ModelUse use_of(const ModelFacts& facts) {
  ModelUse use;
  const Engine& engine = *facts.engine;
  try {
    const Binding& input = picture_input(facts.inputs, "");
    use.picture = resolve_preprocess({}, engine, facts.folder, input, true);
    use.preprocessing = fmt::format("input {}: {}", input.name, use.picture->text());
  } catch (const Error& error) {
    if (!is_answer(error)) throw;
    use.preprocessing = error.message();
  }
  try {
    use.task = resolve_task(engine, {}, use.picture ? use.picture->spec : Preprocess());
    use.task_text = use.task->reason;
  } catch (const Error& error) {
    if (!is_answer(error)) throw;
    use.task_text = error.message();
  }
  for (const Binding& input : engine.inputs())
    if (!(use.picture && input.name == use.picture->input) && !input.state && !input.defaulted)
      use.others.push_back(input.to_string());
  return use;
}

} // namespace lanner::tool
