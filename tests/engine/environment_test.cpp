// Environments as values, and what they say of caches.

#include <filesystem>

#include <gtest/gtest.h>

#include <lanner/environment.h>

#include "engine/custom_operators.h"
#include "importers/onnx_file.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using namespace test;
using namespace test::onnx_file;

std::string product(std::int64_t size = 256) {
  const std::string text = std::to_string(size);
  std::vector<float> weights(static_cast<std::size_t>(size * size), 0.5F);
  return model(graph({.nodes = {node({"MatMul", {"x", "w"}, {"p"}}), node({"Exp", {"p"}, {"y"}})},
                      .inputs = {value("x", f32, {text, text})},
                      .outputs = {value("y", f32, {text, text})},
                      .constants = {floats("w", {size, size}, weights)}}));
}

BuildOptions options(const Environment& environment, int threads = 1) {
  BuildOptions options;
  options.environment = environment;
  options.budget = 0;
  options.threads = threads;
  return options;
}

TEST(Environment, IsNotChangedByWhatCopiesBecome) {
  Environment first;
  const Environment none = first;
  first.load_plugin(custom_operators_plugin());
  const Environment second = first;
  first.set_cache_folder("elsewhere");
  EXPECT_TRUE(none.operators().empty());
  EXPECT_EQ(second.operators().size(), 3U);
  EXPECT_EQ(first.operators().size(), 3U);
}

TEST(Environment, KeepsTimingsInItsFolder) {
  const TemporaryFolder folder;
  Environment environment;
  environment.set_cache_folder(folder / "caches");
  BuildOptions wanted = options(environment);
  wanted.budget = 0.1;
  built(product(64), wanted);
  EXPECT_TRUE(std::filesystem::exists(folder / "caches" / "timing.txt"));
}

} // namespace
} // namespace lanner
