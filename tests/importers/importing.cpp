#include "importers/importing.h"

#include <gtest/gtest.h>

#include <lanner/source.h>

#include "graph/text/text.h"
#include "importers/importer.h"
#include "ops/interpreter/interpreter.h"
#include "ops/node_run.h"
#include "ops/table/table.h"

namespace lanner::test {

std::unique_ptr<Graph> imported(std::string_view file, const std::filesystem::path& folder,
                                const Limits& limits) {
  return import_model(open_bytes(std::as_bytes(std::span(file))), {builtin_op_table(), folder, limits});
}

std::string outcome(std::string_view file, const std::filesystem::path& folder, const Limits& limits) {
  try {
    return print(*imported(file, folder, limits));
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find_first_of("\n\r\t"), std::string::npos) << error.message();
    EXPECT_NE(error.code(), ErrorCode::internal) << error.message();
    return fmt::format("{}: {}", to_string(error.code()), error.message());
  }
}

std::string result(std::string_view file, std::vector<Tensor> inputs, const std::filesystem::path& folder) {
  const std::unique_ptr<Graph> graph = imported(file, folder);
  std::vector<Item> items(inputs.begin(), inputs.end());
  return show(run_reference(*graph, items).at(0));
}

} // namespace lanner::test
