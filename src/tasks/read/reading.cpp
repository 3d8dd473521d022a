#include "tasks/read/reading.h"

#include <algorithm>

#include "tasks/declare/names.h"

namespace lanner::tasks {
namespace {

std::string_view stem(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  return name;
}

} // namespace

const Binding* Facts::given(const std::string& part) const {
  const auto found = wanted.outputs.find(part);
  if (found == wanted.outputs.end()) return nullptr;
  const auto output = std::ranges::find(outputs, found->second, &Binding::name);
  check(output != outputs.end(), ErrorCode::invalid_argument, "task: outputs.{} is '{}', the model has {}",
        one_line(part, shown_text), one_line(found->second, shown_text), outputs_text(outputs));
  return &*output;
}

const Binding* Facts::named(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    for (const Binding& output : outputs)
      if (stem(output.name) == name) return &output;
  return nullptr;
}

const Binding* Facts::find(const std::string& part, std::initializer_list<std::string_view> names,
                           const std::function<bool(const Binding&)>& fits) const {
  if (const Binding* output = given(part)) return output;
  if (const Binding* output = named(names)) return output;
  const auto found = all(fits);
  return found.size() == 1 ? found[0] : nullptr;
}

std::vector<const Binding*> Facts::all(const std::function<bool(const Binding&)>& fits) const {
  std::vector<const Binding*> found;
  for (const Binding& output : outputs)
    if (fits(output)) found.push_back(&output);
  return found;
}

bool is_boxes(const Binding& output) {
  if (has_rank(output, 3)) return may_be(output.dims[2], 4);
  return has_rank(output, 4) && output.dims[2] == 1 && output.dims[3] == 4;
}

std::string outputs_text(const std::vector<Binding>& outputs) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, outputs.size()); ++i)
    text += (i > 0 ? ", " : "") + one_line(outputs[i].to_string(), 2 * shown_text);
  if (outputs.size() > most) text += fmt::format(" and {} more", outputs.size() - most);
  return text.empty() ? "no outputs" : text;
}

} // namespace lanner::tasks
