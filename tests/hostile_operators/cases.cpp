#include "hostile_operators/cases.h"

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

namespace lanner::hostile {

Cases::Cases(std::vector<Seed> seeds, const OpTable& ops, std::size_t mixed, std::uint64_t start)
    : seeds_(std::move(seeds)), operators_(ops.names().size()), start_(start) {
  std::set<std::string> seen;
  for (const Seed& seed : seeds_) seen.insert(seed.op);
  for (const std::string& name : ops.names())
    if (!seen.contains(name)) seeds_.push_back(seed_of(ops.get(name)));
  first_.push_back(0);
  for (const Seed& seed : seeds_) {
    const OpDef* op = ops.find(seed.op);
    if (!op) throw std::runtime_error(fmt::format("seeds: there is no operator {}", seed.op));
    mutations_.push_back(mutations_of(seed, *op));
    first_.push_back(first_.back() + 1 + mutations_.back().size() + mixed);
  }
}

Case Cases::drawn(std::size_t s, std::size_t number) const {
  const std::vector<Mutation>& mutations = mutations_[s];
  std::seed_seq sequence{start_, std::uint64_t{s}, std::uint64_t{number}};
  std::mt19937 random(sequence);
  Case made{"", seeds_[s]};
  const std::size_t changes = 2 + random() % 3;
  for (std::size_t c = 0; c < changes; ++c) {
    const Mutation& mutation = mutations[random() % mutations.size()];
    mutation.apply(made.seed);
    made.name += (c == 0 ? "" : "; ") + mutation.name;
  }
  return made;
}

Case Cases::at(std::size_t number) const {
  const auto behind = std::ranges::upper_bound(first_, number);
  const auto s = static_cast<std::size_t>(behind - first_.begin()) - 1;
  const std::size_t place = number - first_[s];
  const std::vector<Mutation>& mutations = mutations_[s];
  Case made{"as it stands", seeds_[s], place == 0};
  if (place > mutations.size()) {
    made = drawn(s, place - mutations.size());
  } else if (place > 0) {
    mutations[place - 1].apply(made.seed);
    made.name = mutations[place - 1].name;
  }
  made.name = fmt::format("{} (seed {}): {}", seeds_[s].op, s, made.name);
  return made;
}

} // namespace lanner::hostile
