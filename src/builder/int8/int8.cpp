#include "builder/int8/int8.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>
#include <lanner/log.h>

#include "base/check.h"
#include "builder/int8/graph_run.h"
#include "builder/int8/int8_inputs.h"
#include "builder/int8/int8_report.h"
#include "builder/int8/int8_trials.h"
#include "builder/int8/node_noise.h"
#include "builder/int8/output_noise.h"
#include "calibration/histogram.h"
#include "calibration/thresholds.h"
#include "passes/int8/equalisation.h"
#include "passes/int8/int8_nodes.h"

namespace lanner {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view table_key = "lanner.calibration", report_key = "lanner.int8",
                           histograms_key = "lanner.histograms";
using passes::Int8Candidate;
using passes::StoredScale;

/// Chooses ranges and nodes for one graph.
class Int8Choice {
public:
  Int8Choice(const Graph& graph, const BuildOptions& options, const Target& target)
      : graph_(graph), options_(options), calibration_(settled(options.calibration, graph, options.limits)),
        target_(target), candidates_(allowed_candidates(graph, target)), values_(values_read(candidates_)) {}

  const std::vector<Int8Candidate>& candidates() const { return candidates_; }
  bool guarded() const { return static_cast<bool>(calibration_.data); }

  /// Ranges of all values that candidates read.
  CalibrationTable ranges() {
    CalibrationTable table;
    std::vector<std::string> missing;
    for (const std::string& value : values_) {
      if (const auto known = calibration_.table.ranges.find(value); known != calibration_.table.ranges.end())
        table.ranges.insert(*known);
      else
        missing.push_back(value);
    }
    if (missing.empty()) return table;
    check(static_cast<bool>(calibration_.data), ErrorCode::invalid_argument,
          "precision int8: no range for %{}{}; give calibration data, a calibration table, or ranges",
          missing.front(), missing.size() > 1 ? fmt::format(" and {} other values", missing.size() - 1) : "");
    for (auto& [value, range] : measured(missing)) table.ranges.emplace(value, range);
    return table;
  }

  /// Judges each candidate alone; needs data.
  std::map<std::string, NodeVerdict> verdicts(const CalibrationTable& table) {
    std::map<std::string, NodeVerdict> result;
    for (const Int8Candidate& candidate : candidates_) {
      NodeVerdict& verdict = result[candidate.node];
      verdict.why = missing_kernel(graph_, candidate, target_);
      verdict.int8 = verdict.why.empty();
    }
    if (!calibration_.data) return result;
    const std::map<std::string, std::vector<double>> given = [&] {
      std::map<std::string, std::vector<double>> thresholds;
      for (const auto& [value, range] : table.ranges) thresholds[value] = {range.threshold};
      return thresholds;
    }();
    if (measured_.empty())
      for (auto& [node, list] : exactness_of_nodes(given, negative_in(table)))
        measured_[node] = std::move(list.front());
    for (auto& [node, verdict] : result) {
      if (!verdict.int8) continue;
      const auto found = measured_.find(node);
      if (found == measured_.end()) {
        verdict = {false, verdict.snr, "its weights cannot be quantised"};
        continue;
      }
      const NodeExactness& exactness = found->second;
      verdict = {true, exactness.snr(), {}, exactness.gains(), exactness.plain};
      if (verdict.snr < calibration_.least_snr)
        verdict = {false, verdict.snr, fmt::format("below {} dB", calibration_.least_snr)};
    }
    return result;
  }

  /// Takes the fewest of the worst nodes out with which the network's outputs reach the bound. Returns their
  /// ratio, NaN without data.
  double settle_network(const CalibrationTable& table, std::map<std::string, NodeVerdict>& verdicts) {
    if (!calibration_.data) return std::numeric_limits<double>::quiet_NaN();
    const double whole = network_ratio(table, verdicts);
    if (!(whole < calibration_.least_snr)) return whole;
    const std::vector<std::pair<double, std::string>> worst = worst_first(verdicts);
    const auto without = [&](std::size_t count) {
      std::map<std::string, NodeVerdict> tried = verdicts;
      for (std::size_t i = 0; i < count; ++i)
        tried[worst[i].second] = {false, worst[i].first,
                                  fmt::format("the network's outputs have {:.1f} dB with all nodes", whole)};
      return tried;
    };
    // Between so many that are too few and so many that are enough, without any the outputs are exact.
    std::size_t few = 0, enough = worst.size();
    double ratio = std::numeric_limits<double>::infinity();
    for (std::size_t next = first_guess(worst, whole); enough - few > 1; next = few + (enough - few) / 2) {
      next = std::clamp(next, few + 1, enough - 1);
      const double found = network_ratio(table, without(next));
      if (found < calibration_.least_snr) {
        few = next;
      } else {
        enough = next;
        ratio = found;
      }
    }
    verdicts = without(enough);
    return ratio;
  }

  /// How the values were distributed that ranges were found for: for reports.
  const std::map<std::string, Json>& histograms() const { return drawn_; }

  std::map<std::string, StoredScale> scales(const CalibrationTable& table) const {
    std::map<std::string, StoredScale> result;
    for (const auto& [value, range] : table.ranges)
      result[value] = StoredScale::of(range.threshold, range.has_negative());
    return result;
  }

  std::vector<Int8Candidate> chosen(const std::map<std::string, NodeVerdict>& verdicts) const {
    std::vector<Int8Candidate> result;
    std::ranges::copy_if(candidates_, std::back_inserter(result),
                         [&](const Int8Candidate& candidate) { return verdicts.at(candidate.node).int8; });
    return result;
  }

  /// The nodes in INT8 whose biases are corrected, and the means for it.
  std::map<std::string, passes::InputMeans>
  corrections(const std::map<std::string, NodeVerdict>& verdicts) const {
    std::map<std::string, passes::InputMeans> result;
    for (const auto& [node, verdict] : verdicts)
      if (verdict.int8 && verdict.corrected) result[node] = measured_.at(node).means;
    return result;
  }

  /// Divisors of the channels that a candidate reads, by candidate, where channels can be equalised and no
  /// range was given for what they are of. Needs data.
  std::map<std::string, std::vector<double>> channel_scales() {
    std::vector<Int8Candidate> found = passes::equalisable(graph_, candidates_);
    std::erase_if(found, [&](const Int8Candidate& one) {
      return calibration_.table.ranges.contains(one.input) || !measured_.contains(one.node);
    });
    std::map<std::string, std::vector<double>> result;
    if (found.empty()) return result;
    std::map<std::string, std::vector<float>> largest;
    each_batch("calibrate: channels", [&](const auto& batch) {
      const GraphRun::Results results = fp32().run(batch, options_.control);
      for (const Int8Candidate& one : found) {
        const Tensor& values = results.values.at(one.input);
        add_largest(values, one.channel_axis(static_cast<std::int64_t>(values.rank())), largest[one.node]);
      }
    });
    for (const Int8Candidate& one : found) {
      std::vector<double> scales = passes::channel_scales(graph_, one, largest.at(one.node));
      if (std::ranges::any_of(scales, [](double scale) { return scale != 1; }))
        result.emplace(one.node, std::move(scales));
    }
    return result;
  }
  const Int8Candidate& candidate(const std::string& node) const {
    return *std::ranges::find(candidates_, node, &Int8Candidate::node);
  }

private:
  /// The nodes in INT8, least exact first.
  static std::vector<std::pair<double, std::string>>
  worst_first(const std::map<std::string, NodeVerdict>& verdicts) {
    std::vector<std::pair<double, std::string>> nodes;
    for (const auto& [node, verdict] : verdicts)
      if (verdict.int8) nodes.emplace_back(verdict.snr, node);
    std::ranges::sort(nodes);
    return nodes;
  }

  /// How many to take out: the noise of nodes adds up, so the outputs' falls about as the sum of what is
  /// left.
  std::size_t first_guess(const std::vector<std::pair<double, std::string>>& worst, double whole) const {
    const auto noise_of = [](double decibels) { return std::pow(10, -decibels / 10); };
    double noise = 0;
    for (const auto& [snr, node] : worst) noise += noise_of(snr);
    const double allowed = noise * std::pow(10, (whole - calibration_.least_snr) / 10);
    std::size_t count = 0;
    for (; count < worst.size() && !(noise <= allowed); ++count) noise -= noise_of(worst[count].first);
    return count;
  }

  /// Calls `use` with each batch of the data.
  template<typename Use>
  void each_batch(std::string_view what, const Use& use) {
    int batches = 0;
    for (;; ++batches) {
      options_.control.report({what, static_cast<double>(batches), 0, "batches"});
      options_.control.cancel.check();
      const auto batch = calibration_.data(batches == 0);
      if (!batch) break;
      use(*batch);
    }
    check(batches > 0, ErrorCode::invalid_argument,
          "precision int8: the calibration data has no batch; expected at least one");
  }

  GraphRun& fp32() {
    if (!fp32_) {
      std::set<std::string> wanted(values_.begin(), values_.end());
      for (const Int8Candidate& candidate : candidates_) wanted.insert(candidate.node);
      fp32_ = std::make_unique<GraphRun>(graph_, std::vector<std::string>(wanted.begin(), wanted.end()),
                                         options_, target_);
    }
    return *fp32_;
  }

  static std::map<std::string, bool> negative_in(const CalibrationTable& table) {
    std::map<std::string, bool> negative;
    for (const auto& [value, range] : table.ranges) negative[value] = range.has_negative();
    return negative;
  }

  std::map<std::string, TensorRange> measured(const std::vector<std::string>& missing) {
    std::map<std::string, ObservedRange> seen;
    each_batch("calibrate: ranges", [&](const auto& batch) {
      const GraphRun::Results results = fp32().run(batch, options_.control);
      for (const std::string& value : missing) seen[value].add(results.values.at(value).template as<float>());
    });
    for (auto& [value, range] : seen) {
      check(
          range.count + range.not_finite > 0, ErrorCode::invalid_argument,
          "precision int8: the calibration data give no value of %{}; expected batches of at least one input",
          value);
      if (const Value* of = graph_.find(value); !of || of->producer()) range.widen();
    }
    std::map<std::string, TensorHistogram> histograms;
    for (const std::string& value : missing) histograms.emplace(value, TensorHistogram(seen.at(value)));
    if (calibration_.calibrator != Calibrator::min_max)
      each_batch("calibrate: histograms", [&](const auto& batch) {
        const GraphRun::Results results = fp32().run(batch, options_.control);
        for (const std::string& value : missing)
          histograms.at(value).add(results.values.at(value).template as<float>());
      });
    if (calibration_.calibrator != Calibrator::min_max)
      for (const auto& [value, histogram] : histograms) drawn_[value] = drawn(histogram);
    std::map<std::string, TensorRange> ranges;
    for (const std::string& value : missing) {
      const ObservedRange& range = seen.at(value);
      if (range.not_finite > 0)
        log_message(LogLevel::warning, fmt::format("calibration: %{} has {} values that are not finite",
                                                   value, range.not_finite));
      ranges[value] = {range.least, range.most, usable_threshold(range.largest()), Calibrator::min_max};
    }
    if (calibration_.calibrator == Calibrator::automatic)
      choose_thresholds(histograms, ranges);
    else if (calibration_.calibrator != Calibrator::min_max)
      for (auto& [value, range] : ranges) {
        range.threshold =
            threshold_of(histograms.at(value), calibration_.calibrator, calibration_.percentile);
        range.calibrator = calibration_.calibrator;
      }
    return ranges;
  }

  /// In as many bins as a small picture shows.
  static Json drawn(const TensorHistogram& histogram) {
    constexpr std::size_t shown = 64, each = TensorHistogram::bins / shown;
    std::vector<std::uint64_t> counts(shown);
    for (std::size_t i = 0; i < TensorHistogram::bins; ++i) counts[i / each] += histogram.counts()[i];
    return {{"largest", histogram.largest()}, {"zeros", histogram.zeros()}, {"counts", counts}};
  }

  /// Of all calibrators' thresholds the one with which the worst of a value's readers is most exact.
  void choose_thresholds(const std::map<std::string, TensorHistogram>& histograms,
                         std::map<std::string, TensorRange>& ranges) {
    std::map<std::string, std::vector<ThresholdCandidate>> tried;
    std::map<std::string, std::vector<double>> thresholds;
    std::map<std::string, bool> negative;
    for (const std::string& value : values_) {
      const auto histogram = histograms.find(value);
      if (histogram != histograms.end()) {
        tried[value] = lanner::candidates(histogram->second, calibration_.percentile);
        negative[value] = ranges.at(value).has_negative();
      } else {
        const TensorRange& known = calibration_.table.ranges.at(value);
        tried[value] = {{known.threshold, known.calibrator}};
        negative[value] = known.has_negative();
      }
      for (const ThresholdCandidate& one : tried.at(value)) thresholds[value].push_back(one.threshold);
    }
    const auto measured = exactness_of_nodes(thresholds, negative);
    std::map<std::string, std::size_t> taken;
    for (auto& [value, range] : ranges) {
      double best = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < tried.at(value).size(); ++k) {
        double worst = std::numeric_limits<double>::infinity();
        for (const Int8Candidate& candidate : candidates_)
          if (const auto found = measured.find(candidate.node);
              candidate.input == value && found != measured.end())
            worst = std::min(worst, found->second[std::min(k, found->second.size() - 1)].snr());
        constexpr double rounding = 1e-6; // The order of the batches must not decide between equal ones.
        if (!(worst > best + rounding)) continue;
        best = worst;
        taken[value] = k;
        range.threshold = tried.at(value)[k].threshold;
        range.calibrator = tried.at(value)[k].calibrator;
      }
    }
    for (const Int8Candidate& candidate : candidates_)
      if (const auto found = measured.find(candidate.node); found != measured.end())
        measured_[candidate.node] = found->second[std::min(taken[candidate.input], found->second.size() - 1)];
  }

  /// How exact each candidate is with each of its value's thresholds.
  std::map<std::string, std::vector<NodeExactness>>
  exactness_of_nodes(const std::map<std::string, std::vector<double>>& thresholds,
                     const std::map<std::string, bool>& negative) {
    Int8Trials trials(graph_, candidates_, negative, options_, target_);
    std::size_t rounds = 1;
    for (const auto& [value, list] : thresholds) rounds = std::max(rounds, list.size());
    std::map<std::string, std::vector<NodeNoise>> sums;
    each_batch("calibrate: nodes", [&](const auto& batch) {
      const GraphRun::Results results = fp32().run(batch, options_.control);
      for (std::size_t k = 0; k < rounds; ++k) {
        std::map<std::string, double> now;
        for (const auto& [value, list] : thresholds) now[value] = list[std::min(k, list.size() - 1)];
        add_noise(results, trials.run(results.values, now, options_.control), k, rounds, sums);
      }
    });
    std::map<std::string, std::vector<NodeExactness>> exactness;
    for (const auto& [node, list] : sums)
      for (const NodeNoise& noise : list) {
        exactness[node].push_back(noise.exactness(*trials.weights(node)));
        NodeExactness& found = exactness[node].back();
        if (calibration_.ranges_only) found.corrected = found.plain;
      }
    return exactness;
  }

  /// Adds the results of a batch with the `k`-th thresholds.
  void add_noise(const GraphRun::Results& exact, const Int8Trials::Results& rounded, std::size_t k,
                 std::size_t rounds, std::map<std::string, std::vector<NodeNoise>>& sums) const {
    for (const Int8Candidate& candidate : candidates_) {
      const auto found = rounded.nodes.find(candidate.node);
      if (found == rounded.nodes.end()) continue;
      std::vector<NodeNoise>& of_node = sums[candidate.node];
      of_node.resize(rounds);
      const auto axis = [&](const Tensor& tensor) {
        return static_cast<std::size_t>(candidate.channel_axis(static_cast<std::int64_t>(tensor.rank())));
      };
      of_node[k].add(exact.values.at(candidate.node), found->second, axis(found->second));
      const std::string means = Int8Trials::mean_name(candidate);
      const auto mean = rounded.exact_means.find(means);
      if (mean == rounded.exact_means.end()) continue;
      const Tensor& x = exact.values.at(candidate.input);
      const std::int64_t channels = x.shape()[axis(x)];
      if (x.shape().elements() > 0)
        of_node[k].add_means(mean->second, rounded.rounded_means.at(means),
                             static_cast<double>(x.shape().elements() / channels));
    }
  }

  /// The least ratio of the network's outputs, all chosen nodes quantised.
  double network_ratio(const CalibrationTable& table, const std::map<std::string, NodeVerdict>& verdicts) {
    const std::unique_ptr<Graph> quantized = graph_.clone();
    passes::quantize_nodes(*quantized, chosen(verdicts), scales(table), corrections(verdicts));
    GraphRun run(*quantized, {}, options_, target_);
    std::map<std::string, OutputNoise> sums;
    each_batch("calibrate: network", [&](const auto& batch) {
      // Not kept from pass to pass: each may give the batches in another order.
      const std::map<std::string, Tensor> expected = fp32().run(batch, options_.control).outputs;
      for (const auto& [name, tensor] : run.run(batch, options_.control).outputs)
        sums[name].add(expected.at(name), tensor);
    });
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [name, sum] : sums) {
      least = std::min(least, sum.decibels());
      if (sum.left_out() > 0 && told_.insert(name).second)
        log_message(
            LogLevel::warning,
            fmt::format("{}: output {} has other sizes in INT8 than in FP32 in {} of the calibration's "
                        "batches, which its signal-to-noise ratio leaves out",
                        graph_.name, name, sum.left_out()));
    }
    return least;
  }

  const Graph& graph_;
  const BuildOptions& options_;
  const Calibration calibration_; ///< With what its files hold.
  const Target& target_;
  std::vector<Int8Candidate> candidates_;
  std::vector<std::string> values_;
  std::unique_ptr<GraphRun> fp32_; ///< Once it is needed.
  std::set<std::string> told_;     ///< Outputs that a line about their sizes was logged for.
  std::map<std::string, Json> drawn_;
  std::map<std::string, NodeExactness> measured_; ///< With the thresholds chosen; empty: not known.
};

/// All that is decided of a graph.
struct Decisions {
  CalibrationTable table;
  std::map<std::string, NodeVerdict> verdicts;
  double network_snr = 0;
  std::vector<Int8Candidate> chosen;
  std::map<std::string, StoredScale> stored;
  std::map<std::string, passes::InputMeans> corrections;

  std::int64_t int8_nodes() const { return static_cast<std::int64_t>(chosen.size()); }
};

Decisions decide(Int8Choice& choice) {
  Decisions made;
  made.table = choice.ranges();
  made.verdicts = choice.verdicts(made.table);
  made.network_snr = choice.settle_network(made.table, made.verdicts);
  made.chosen = choice.chosen(made.verdicts);
  made.stored = choice.scales(made.table);
  made.corrections = choice.corrections(made.verdicts);
  return made;
}

struct Equalised {
  Decisions decisions;
  std::map<std::string, std::vector<double>> scales;
};

/// Decisions of the equalised graph, where its outputs are more exact by as much as another calibration is
/// worth, and no more nodes stay in FP32.
std::optional<Equalised> equalised_decisions(Int8Choice& choice, const Graph& graph,
                                             const BuildOptions& options, const Target& target,
                                             const Decisions& plain) {
  constexpr double least_gain = 0.25; // dB
  if (options.calibration.ranges_only || !choice.guarded() || plain.chosen.empty()) return std::nullopt;
  Equalised made{{}, choice.channel_scales()};
  const std::unique_ptr<Graph> copy = graph.clone();
  std::erase_if(made.scales, [&](const auto& one) {
    return !passes::equalise(*copy, choice.candidate(one.first), one.second);
  });
  if (made.scales.empty()) return std::nullopt;
  Int8Choice other(*copy, options, target);
  made.decisions = decide(other);
  const bool gains = made.decisions.network_snr > plain.network_snr + least_gain &&
                     made.decisions.int8_nodes() >= plain.int8_nodes();
  return gains ? std::optional(std::move(made)) : std::nullopt;
}

} // namespace

CalibrationTable int8_ranges(const Graph& graph, const BuildOptions& options, const Target& target) {
  return Int8Choice(graph, options, target).ranges();
}

void to_int8(Graph& graph, const BuildOptions& options, const Target& target) {
  if (!target.precision.allows(DType::i8) || passes::is_quantized(graph)) return;
  const std::unique_ptr<Graph> given = graph.clone(); // the choice reads it while `graph` changes
  Int8Choice choice(*given, options, target);
  check(!choice.candidates().empty(), ErrorCode::unsupported,
        "precision int8: the model has no convolution or product of reals with constant weights; leave int8 "
        "out");
  Decisions found = decide(choice);
  Int8Report report;
  graph.metadata[std::string(table_key)] = found.table.to_string();
  if (!choice.histograms().empty())
    graph.metadata[std::string(histograms_key)] = Json(choice.histograms()).dump();
  if (auto equalised = equalised_decisions(choice, *given, options, target, found)) {
    report.plain_network_snr = found.network_snr;
    for (const auto& [node, scales] : equalised->scales)
      if (passes::equalise(graph, choice.candidate(node), scales)) report.equalised.insert(node);
    found = std::move(equalised->decisions);
  }
  const std::vector<std::string> done =
      passes::quantize_nodes(graph, found.chosen, found.stored, found.corrections);
  for (auto& [node, verdict] : found.verdicts)
    if (verdict.int8 && std::ranges::find(done, node) == done.end())
      verdict = {false, verdict.snr, "its weights cannot be quantised"};
  report.verdicts = std::move(found.verdicts);
  report.network_snr = found.network_snr;
  graph.metadata[std::string(report_key)] = report.json().dump();
  report.tell(graph.name, choice.guarded());
}

} // namespace lanner
