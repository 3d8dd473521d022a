// A program that links only liblanner-runtime: lanner_runtime_probe COMMAND VALUE ... prints a line for each
// command, its result or `error: CODE: MESSAGE`. Driven by tests/python/engine/test_runtime.py.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/machine_limits.h>

namespace {

using namespace lanner;

/// `2x6`.
Shape parse_shape(const std::string& text) {
  Shape shape;
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('x', at), text.size() - 1) + 1)
    shape.push_back(std::stoll(text.substr(at)));
  return shape;
}

Tensor ramp(const Shape& shape) {
  Tensor tensor = Tensor::allocate(DType::f32, shape);
  float number = -1;
  for (float& element : tensor.as<float>()) element = number += 0.125F;
  return tensor;
}

/// Numbers with full precision.
std::string text_of(const Tensor& tensor) {
  std::string text;
  char number[64];
  for (const float element : tensor.as<float>()) {
    std::snprintf(number, sizeof(number), "%a ", static_cast<double>(element));
    text += number;
  }
  return text;
}

/// Lanner's libraries loaded in this process.
std::string loaded() {
  std::ifstream maps("/proc/self/maps");
  std::map<std::string, bool> files;
  for (std::string line; std::getline(maps, line);)
    if (const auto at = line.rfind("/liblanner"); at != std::string::npos) files[line.substr(at + 1)] = true;
  std::string text;
  for (const auto& [file, there] : files) text += file + " ";
  return text;
}

class Probe {
public:
  std::string run(const std::string& command, const std::string& value) {
    if (command == "build") return Engine::build(std::filesystem::path(value)).name();
    if (command == "measure") return std::to_string(measure_machine({}).bytes);
    if (command == "threads") return options_.threads = std::stoi(value), value;
    if (command == "weights") return options_.weights = open_path(value), value;
    if (command == "load")
      return engine_ = Engine::load(std::filesystem::path(value), options_), engine_->name();
    if (command == "libraries") return loaded();
    if (command == "explain") return std::to_string(engine_->explain_json().size());
    if (command == "verify") return std::to_string(engine_->verify().nodes);
    if (command == "prepare")
      return engine_->prepare({{engine_->inputs()[0].name, parse_shape(value)}}), value;
    if (command == "save") return engine_->save(value), value;
    if (command == "refit") return refit(value);
    return outputs(value);
  }

private:
  std::string outputs(const std::string& shape) {
    Context context = engine_->create_context();
    std::string text;
    for (const auto& [name, item] : context({{engine_->inputs()[0].name, ramp(parse_shape(shape))}}))
      text += name + " " + text_of(item.tensor);
    return text;
  }

  /// Refits the weight with a ramp.
  std::string refit(const std::string& name) {
    const std::vector<SourceWeight> weights = engine_->weights();
    const auto found = std::ranges::find(weights, name, &SourceWeight::name);
    engine_ = engine_->refit({{name, ramp(found == weights.end() ? Shape{1} : found->shape)}});
    return name;
  }

  LoadOptions options_;
  std::optional<Engine> engine_;
};

} // namespace

int main(int count, char** words) {
  Probe probe;
  for (int i = 1; i + 1 < count; i += 2) {
    try {
      std::printf("%s\n", probe.run(words[i], words[i + 1]).c_str());
    } catch (const Error& error) {
      std::printf("error: %s: %s\n", std::string(to_string(error.code())).c_str(), error.what());
    }
  }
}
