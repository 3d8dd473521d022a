#include "tf/convert/library_functions.h"

#include <vector>

#include <protozero/pbf_reader.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"

namespace lanner::tf {
namespace {

using protozero::pbf_reader;
constexpr auto bytes_type = protozero::pbf_wire_type::length_delimited;

/// Calls `visit(message)` for each field `tag` that is a message or text.
template<typename Visit>
void each(std::string_view message, protozero::pbf_tag_type tag, Visit visit) {
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (reader.tag() != tag || reader.wire_type() != bytes_type) {
      reader.skip();
      continue;
    }
    const auto view = reader.get_view();
    visit(std::string_view(view.data(), view.size()));
  }
}

/// The names of what a FunctionDef's nodes call; operators, which may be functions, too.
std::vector<std::string_view> callees(std::string_view function) {
  constexpr protozero::pbf_tag_type node_def = 3, op = 2, attr = 5, value = 2, list = 1, func = 10,
                                    list_func = 9, name = 1;
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view text) { names.push_back(text); };
  each(function, node_def, [&](std::string_view node) {
    each(node, op, add);
    each(node, attr, [&](std::string_view entry) {
      each(entry, value, [&](std::string_view attribute) {
        each(attribute, func, [&](std::string_view called) { each(called, name, add); });
        each(attribute, list, [&](std::string_view all) {
          each(all, list_func, [&](std::string_view called) { each(called, name, add); });
        });
      });
    });
  });
  return names;
}

} // namespace

void add_functions(const tensorflow::SourceLibrary& library, std::string_view name,
                   std::set<std::string, std::less<>>& added, GraphRecord& graph) {
  check(!library.text, ErrorCode::unsupported,
        "function {}: functions of a model in text form cannot be written again; expected saved_model.pb",
        one_line(std::string(name), 200));
  check(library.functions.contains(name), ErrorCode::bad_data, "the model has no function {}",
        one_line(std::string(name), 200));
  std::vector<std::string_view> waiting{name};
  try {
    while (!waiting.empty()) {
      check_deadline();
      const auto found = library.functions.find(waiting.back());
      waiting.pop_back();
      if (found == library.functions.end() || !added.insert(found->first).second) continue;
      graph.other_functions.push_back({std::string(found->second)});
      for (const std::string_view callee : callees(found->second)) waiting.push_back(callee);
    }
  } catch (const protozero::exception& error) {
    fail(ErrorCode::bad_data, "function {}: {}", one_line(std::string(name), 200), error.what());
  }
}

} // namespace lanner::tf
