#include "model_use.h"

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/task.h>

#include "preprocess_options.h"

namespace lanner::tool {
namespace {

/// Errors of what was not declared are answers here.
bool is_answer(const Error& error) {
  return error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::bad_data ||
         error.code() == ErrorCode::unsupported;
}

} // namespace

ModelUse use_of(const ModelFacts& facts) {
  ModelUse use;
  const Engine& engine = *facts.engine;
  std::string taken;
  Preprocess spec;
  try {
    const Binding& input = picture_input(engine, "");
    taken = input.name;
    const PictureInput picture = resolve_preprocess({}, engine, facts.folder, input, true);
    spec = picture.spec;
    use.preprocessing = fmt::format("input {}: {}", input.name, picture.text());
    use.preprocessing_known = true;
  } catch (const Error& error) {
    if (!is_answer(error)) throw;
    use.preprocessing = error.message();
  }
  try {
    use.task = resolve_task(engine, {}, spec).reason;
    use.task_known = true;
  } catch (const Error& error) {
    if (!is_answer(error)) throw;
    use.task = error.message();
  }
  for (const Binding& input : engine.inputs())
    if (input.name != taken && !input.state) use.others.push_back(input.to_string());
  return use;
}

} // namespace lanner::tool
