#include "engine/custom_operators.h"

#include <dlfcn.h>

#include <memory>

#include <gtest/gtest.h>

#include "importers/onnx_file.h"

namespace lanner::test {

using namespace onnx_file;

std::filesystem::path custom_operators_plugin() {
  return LANNER_CUSTOM_OPERATORS;
}

Environment with_custom_operators() {
  Environment environment;
  environment.load_plugin(custom_operators_plugin());
  return environment;
}

static int called(const char* name) {
  void* library = dlopen(LANNER_CUSTOM_OPERATORS, RTLD_NOW | RTLD_NOLOAD);
  const auto function = library ? reinterpret_cast<std::int32_t (*)()>(dlsym(library, name)) : nullptr;
  if (!function) {
    ADD_FAILURE() << "the plug-in is not loaded, or has no " << name;
    return 0;
  }
  const int result = function();
  dlclose(library);
  return result;
}

int custom_instances() {
  return called("custom_operators_instances");
}

int most_custom_instances_at_work() {
  return called("custom_operators_most_at_work");
}

std::string scaling_model(const std::string& n) {
  return model(graph({.nodes = {node({.op = "Scale",
                                      .inputs = {"x", "w"},
                                      .outputs = {"s"},
                                      .attributes = {attribute("factor", 0.5F)},
                                      .domain = "own"}),
                                node({"Relu", {"s"}, {"y"}})},
                      .inputs = {value("x", f32, {n, "3", "4", "5"})},
                      .outputs = {value("y", f32, {n, "3", "4", "5"})},
                      .constants = {floats("w", {3}, {1, 2, 3})}}));
}

std::vector<float> scaled(const std::vector<float>& x) {
  constexpr std::size_t channels = 3, pixels = 20;
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back(std::max(0.0F, x[i] * 0.5F * static_cast<float>(i / pixels % channels + 1)));
  return y;
}

} // namespace lanner::test
