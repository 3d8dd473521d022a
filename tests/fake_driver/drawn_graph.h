#pragma once
// Randomly generated lowered graphs over several streams.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/graph.h"

namespace lanner::test {

/// Text of a random lowered graph of vectors.
class DrawnGraph {
public:
  DrawnGraph(std::mt19937& random, std::size_t nodes) : random_(random) {
    for (const char* name : {"x", "z"}) values_.push_back({name, 64});
    const int streams = 1 + static_cast<int>(random_() % max_streams);
    for (std::size_t n = 0; n < nodes; ++n) add(fmt::format("v{}", n), streams);
    std::vector<std::string> outputs;
    for (const Drawn& value : values_)
      if (value.uses == 0 && value.name[0] == 'v' && value.alive)
        outputs.push_back(fmt::format("%{0}: f32[{1}] as \"{0}\"", value.name, value.size));
    text = fmt::format("graph @g(%x: f32[64] @ row cuda:0, %z: f32[64] @ row cuda:0) -> ({}) {{\n{}}}\n",
                       fmt::join(outputs, ", "), text);
  }
  std::string text;

private:
  struct Drawn {
    std::string name;
    int size = 64;
    int uses = 0;
    bool alive = true;   ///< Not overwritten.
    bool joined = false; ///< Part of a concatenation.
  };

  Drawn* pick(const auto& fits) {
    std::vector<Drawn*> all;
    for (Drawn& value : values_)
      if (value.alive && fits(value)) all.push_back(&value);
    return all.empty() ? nullptr : all[random_() % all.size()];
  }

  void line(const std::string& name, int size, const std::string& call, const std::string& tactic, int stream,
            const std::string& storage = "row cuda:0") {
    text += fmt::format("  %{}: f32[{}] @ {} = {} tactic({}, _, 0.0){}\n", name, size, storage, call, tactic,
                        stream > 0 ? fmt::format(" stream({})", stream) : "");
    values_.push_back({name, size});
  }

  static std::string of_gpu(const std::string& kind) { return fmt::format("\"gpu\", \"{}\"", kind); }

  void add(const std::string& name, int streams) {
    const int stream = static_cast<int>(random_() % static_cast<unsigned>(streams));
    Drawn* a = pick([](const Drawn&) { return true; });
    const unsigned kind = random_() % 16;
    if (kind < 2) return join(name, stream);
    if (kind < 7) {
      Drawn* b = pick([&](const Drawn& value) { return value.size == a->size; });
      ++a->uses, ++b->uses;
      return line(name, a->size, fmt::format("add(%{}, %{})", a->name, b->name), of_gpu("add"), stream);
    }
    if (kind < 9) {
      Drawn* b = pick([&](const Drawn& value) {
        return value.size == 64 && a->size == 64 && &value != a && value.name[0] == 'v';
      });
      if (b) {
        ++a->uses, ++b->uses;
        b->alive = false;
        return line(name, a->size, fmt::format("mul(%{}, %{})", a->name, b->name), of_gpu("mul"), stream);
      }
    }
    ++a->uses;
    if (kind == 9) return line(name, a->size, fmt::format("abs(%{})", a->name), of_gpu("abs"), stream);
    if (kind == 10) {
      const int size = a->size;
      line(name + "_h", size, fmt::format("reorder(%{})", a->name), of_gpu("reorder"), stream, "row");
      values_.pop_back();
      return line(name, size, fmt::format("reorder(%{}_h)", name), of_gpu("reorder"), stream);
    }
    const std::string op = kind < 13 ? "neg" : "relu";
    line(name, a->size, fmt::format("{}(%{})", op, a->name), of_gpu(op), stream);
  }

  /// Two new values, written directly into their concatenation.
  void join(const std::string& name, int stream) {
    Drawn* a = pick([](const Drawn& value) { return value.size == 64; });
    const std::string from = a->name;
    ++a->uses;
    for (const int part : {0, 1}) {
      line(fmt::format("{}_{}", name, part), 64, fmt::format("relu(%{})", from), of_gpu("relu"),
           (stream + part) % max_streams, fmt::format("row cuda:0 in=%{}{}", name, part ? "+256" : ""));
      values_.pop_back();
    }
    line(name, 128, fmt::format("concat(%{0}_0, %{0}_1) {{axis = 0}}", name), "\"alias\", \"alias\"", 0);
  }

  std::mt19937& random_;
  std::vector<Drawn> values_;
};

} // namespace lanner::test
