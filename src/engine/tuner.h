#pragma once
// Measures tactics.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <lanner/cancel.h>

#include "engine/packing.h"
#include "graph/tactic.h"

namespace lanner {

/// Seconds by the content of what was measured. A file in the user's cache folder keeps them between builds;
/// a damaged or foreign file is ignored.
class TimingCache {
public:
  explicit TimingCache(std::filesystem::path file = {});
  std::optional<double> find(const std::string& key) const;
  void insert(const std::string& key, double seconds);
  /// Merges with what others wrote meanwhile and writes beside and renames. Failing to write is not an error.
  void save();

private:
  std::filesystem::path file_;
  std::map<std::string, double> entries_;
  bool changed_ = false;
};

/// Text that is equal for nodes that do the same work: operator, attributes, types, storages, body; no names.
std::string signature(const Node& node);

/// What a tactic costs and how that is known.
struct Cost {
  double seconds = 0;
  bool measured = false;
};

/// Times kernels within a budget of wall time; past it, answers with the tactics' own estimates. One user at
/// a time.
class Tuner {
public:
  Tuner(Target target, double budget, TimingCache& cache, PackedConstants& constants, const Control& control);

  /// Seconds of one run of `node` by `tactic`. `best` is the fastest seen so far for this node: a tactic that
  /// is much slower is given up early.
  Cost cost(const Node& node, const Backend& backend, const Tactic& tactic, double best);
  /// What `backend` offers for `node` when there is time: nothing past the budget, which the search is part
  /// of.
  TacticList more_tactics(const Node& node, const Backend& backend);
  double spent() const noexcept { return spent_; }
  bool measures() const noexcept { return budget_ > 0 && !target_.deterministic; }

private:
  std::string key(const Node& node, const Backend& backend, const Tactic& tactic) const;
  double measure(const Node& node, const Backend& backend, const Tactic& tactic, double best);
  double time(const Kernel& kernel, const Launch& launch, double best) const;
  Tensor scratch(const Value& value, const Storage& storage, std::size_t index);

  Target target_;
  double budget_;
  TimingCache& cache_;
  PackedConstants& constants_;
  const Control& control_;
  double spent_ = 0;
  std::map<std::pair<std::size_t, Device>, Tensor> scratch_; ///< One growing block for each argument place.
};

} // namespace lanner
