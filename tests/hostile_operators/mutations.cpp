#include "hostile_operators/mutations.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hostile_operators/attribute_mutations.h"

namespace lanner::hostile {
namespace {

constexpr std::array sizes{"0", "1", "2", "5", "65537", "2147483647", "2147483648", "4611686018427387904"};
constexpr std::array integers{"0",
                              "1",
                              "-1",
                              "2",
                              "7",
                              "-7",
                              "1000000",
                              "2147483647",
                              "2147483648",
                              "-2147483648",
                              "4611686018427387904",
                              "9223372036854775807",
                              "-9223372036854775808"};
constexpr std::array reals{"0.0",    "-1.0",    "nan",    "inf",         "-inf",
                           "1e+308", "-1e+308", "1e-320", "3000000000.0"};
constexpr std::size_t highest_rank = 6;

using Change = std::function<void(Operand&)>;

class OperandMutations {
public:
  explicit OperandMutations(std::vector<Mutation>& list) : list_(list) {}

  void add_all(const Seed& seed) {
    for (std::size_t i = 0; i < seed.operands.size(); ++i) {
      index_ = i;
      add_types();
      add_ranks();
      add_sizes(seed.operands[i].dims.size());
      add_given(seed.operands[i]);
      add_values(seed.operands[i]);
      add_presence(seed.operands.size());
    }
    add_counts();
    add_together();
  }

private:
  void add(const std::string& name, Change change) {
    list_.push_back(
        {fmt::format("operand {}: {}", index_, name), [i = index_, change = std::move(change)](Seed& seed) {
           if (i < seed.operands.size()) change(seed.operands[i]);
         }});
  }
  void add_to_node(const std::string& name, std::function<void(Seed&)> change) {
    list_.push_back({name, std::move(change)});
  }
  /// For every operand.
  void add_to_all(const std::string& name, const Change& change) {
    add_to_node("all operands: " + name, [change](Seed& seed) {
      for (Operand& operand : seed.operands) change(operand);
    });
  }

  /// A constant of a type with other literals becomes an input.
  static void set_type(Operand& operand, const std::string& type) {
    operand.dtype = type;
    const bool literal = type == "f32" || type == "f64" || type == "i64" || type == "i32";
    if (operand.kind == Operand::Kind::constant && operand.values != "random" && !literal)
      operand.kind = Operand::Kind::input;
  }

  void add_types() {
    for (std::size_t type = 0; type < dtype_count; ++type) {
      const std::string name(to_string(static_cast<DType>(type)));
      add(name, [name](Operand& operand) { set_type(operand, name); });
    }
    for (const char* wrapper : {"seq", "opt", ""})
      add(fmt::format("wrapped by '{}'", wrapper), [wrapper](Operand& operand) {
        operand.wrapper = wrapper;
        if (operand.kind == Operand::Kind::constant) operand.kind = Operand::Kind::input;
      });
  }

  void add_ranks() {
    for (std::size_t rank = 0; rank <= highest_rank; ++rank) {
      for (const char* size : {"1", "2"})
        add(fmt::format("rank {} by {}", rank, size),
            [=](Operand& operand) { operand.dims.resize(rank, size); });
      add(fmt::format("rank {} by 1 in front", rank), [=](Operand& operand) {
        while (operand.dims.size() < rank) operand.dims.insert(operand.dims.begin(), "1");
        while (operand.dims.size() > rank) operand.dims.erase(operand.dims.begin());
      });
    }
    add("rank 70", [](Operand& operand) { operand.dims.resize(70, "1"); });
  }

  void add_sizes(std::size_t rank) {
    for (std::size_t d = 0; d < rank; ++d)
      for (const char* size : sizes)
        add(fmt::format("dim {} is {}", d, size), [=](Operand& operand) {
          if (d < operand.dims.size()) operand.dims[d] = size;
        });
    for (const char* size : sizes)
      add(fmt::format("all dims are {}", size),
          [=](Operand& operand) { std::ranges::fill(operand.dims, size); });
  }

  /// Sizes known only at run time: its own, and wrong ones.
  void add_given(const Operand& seed) {
    std::vector<std::int64_t> own;
    for (const std::string& dim : seed.dims) own.push_back(std::stoll(dim));
    std::vector<std::vector<std::int64_t>> given{own};
    for (std::size_t d = 0; d < own.size(); ++d)
      for (const std::int64_t size : {0, 1, 4}) {
        given.push_back(own);
        given.back()[d] = size;
      }
    for (const std::size_t rank : {std::size_t{0}, own.size() + 1}) {
      given.push_back(own);
      given.back().resize(rank, 1);
    }
    for (const auto& shape : given) {
      add(fmt::format("unranked, given {}", shape), [=](Operand& operand) {
        operand.ranked = false;
        operand.given = shape;
        if (operand.kind == Operand::Kind::constant) operand.kind = Operand::Kind::input;
      });
      add(fmt::format("open, given {}", shape), [=, i = index_](Operand& operand) {
        operand.dims.clear();
        for (std::size_t d = 0; d < own.size(); ++d) operand.dims.push_back(fmt::format("S{}_{}", i, d));
        operand.given = shape;
        if (operand.kind == Operand::Kind::constant) operand.kind = Operand::Kind::input;
      });
    }
  }

  void add_values(const Operand& seed) {
    if (seed.kind == Operand::Kind::constant && seed.values != "random") return add_constant(seed);
    add("constant", [](Operand& operand) {
      operand.kind = Operand::Kind::constant;
      operand.values = "random";
    });
  }

  void add_constant(const Operand& seed) {
    const bool real = seed.dtype.starts_with("f");
    const std::vector<std::string> own = split(seed.values.substr(1, seed.values.size() - 2));
    const auto put = [&](const std::string& name, const std::vector<std::string>& values, bool resized) {
      const std::string text = fmt::format("({})", fmt::join(values, ", "));
      const std::string size = std::to_string(values.size());
      add(name, [=](Operand& operand) {
        operand.values = text;
        if (resized) operand.dims = {size};
      });
    };
    const std::vector<const char*> extremes =
        real ? std::vector<const char*>(reals.begin(), reals.end())
             : std::vector<const char*>(integers.begin(), integers.end());
    for (const char* value : extremes) {
      for (std::size_t k = 0; k < own.size(); ++k) {
        std::vector<std::string> changed = own;
        changed[k] = value;
        put(fmt::format("value {} is {}", k, value), changed, false);
      }
      put(fmt::format("all values are {}", value), std::vector<std::string>(own.size(), value), false);
    }
    put("no values", {}, true);
    std::vector<std::string> longer = own;
    longer.insert(longer.end(), own.begin(), own.end());
    put("values twice", longer, true);
    put("one value less", {own.begin(), own.end() - (own.empty() ? 0 : 1)}, true);
    add("unknown values", [](Operand& operand) { operand.kind = Operand::Kind::input; });
  }

  void add_presence(std::size_t count) {
    add("absent", [](Operand& operand) { operand.kind = Operand::Kind::absent; });
    for (std::size_t other = 0; other < count; ++other)
      if (other != index_)
        add_to_node(fmt::format("operand {} is operand {} too", index_, other),
                    [i = index_, other](Seed& seed) {
                      const std::size_t size = seed.operands.size();
                      if (i < size && other < size && seed.operands[other].kind != Operand::Kind::absent)
                        seed.shared.emplace_back(other, i);
                    });
  }

  void add_counts() {
    for (const std::size_t count : {0, 1, 2, 3, 4, 5, 6, 9, 33})
      add_to_node(fmt::format("{} operands", count), [=](Seed& seed) {
        if (seed.captures == 0)
          seed.operands.resize(count, seed.operands.empty() ? Operand{} : seed.operands.back());
      });
  }

  void add_together() {
    for (std::size_t type = 0; type < dtype_count; ++type) {
      const std::string name(to_string(static_cast<DType>(type)));
      add_to_all(name, [name](Operand& operand) { set_type(operand, name); });
    }
    for (const char* size : sizes) {
      add_to_all(fmt::format("dim 0 is {}", size), [=](Operand& operand) {
        if (!operand.dims.empty()) operand.dims[0] = size;
      });
      add_to_all(fmt::format("last dim is {}", size), [=](Operand& operand) {
        if (!operand.dims.empty()) operand.dims.back() = size;
      });
      add_to_all(fmt::format("all dims are {}", size),
                 [=](Operand& operand) { std::ranges::fill(operand.dims, size); });
    }
    add_to_all("unknown", [](Operand& operand) {
      if (operand.kind == Operand::Kind::constant) operand.kind = Operand::Kind::input;
    });
    add_to_all("scalars", [](Operand& operand) { operand.dims.clear(); });
    for (std::size_t rank = 1; rank <= highest_rank; ++rank)
      add_to_all(fmt::format("rank {}", rank), [=](Operand& operand) { operand.dims.resize(rank, "2"); });
  }

  std::vector<Mutation>& list_;
  std::size_t index_ = 0;
};

void add_node_mutations(std::vector<Mutation>& list, const OpDef& op) {
  for (const std::size_t count : {0, 1, 2, 3, 5})
    list.push_back({fmt::format("{} outputs", count), [=](Seed& seed) { seed.outputs = count; }});
  for (const char* behind : {"relu", "sigmoid", "neg", "shape", "softmax", "identity"})
    list.push_back({fmt::format("{} behind it", behind), [=](Seed& seed) {
                      if (seed.outputs > 0) seed.behind = behind;
                    }});
  if (op.regions == 0) {
    list.push_back(
        {"a region", [](Seed& seed) { seed.regions = "((%p: f32[2]) -> (%q) { %q = neg(%p) })"; }});
    return;
  }
  list.push_back({"no regions", [](Seed& seed) { seed.regions.clear(); }});
  list.push_back({"empty regions", [count = op.regions](Seed& seed) {
                    std::string text = "(";
                    for (int r = 0; r < count; ++r) text += r == 0 ? "() -> () { }" : ", () -> () { }";
                    seed.regions = text + ")";
                  }});
}

} // namespace

std::vector<Mutation> mutations_of(const Seed& seed, const OpDef& op) {
  std::vector<Mutation> list;
  OperandMutations(list).add_all(seed);
  add_attribute_mutations(list, seed, op);
  add_node_mutations(list, op);
  return list;
}

} // namespace lanner::hostile
