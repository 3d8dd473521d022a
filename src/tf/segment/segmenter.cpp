#include "tf/segment/segmenter.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/text/one_line.h"
#include "tf/segment/clusters.h"
#include "tf/segment/sorted_graph.h"
#include "tf/segment/trim.h"

namespace lanner::tf {
namespace {

constexpr std::size_t longest_name = 200;

bool is_counted(const SegmenterNode& node) {
  return node.counts && node.op != "Identity" && node.op != "Snapshot" && node.op != "StopGradient";
}

/// Why the options or the node itself exclude it.
std::optional<NativeReason> excluded(const SegmenterNode& node, const SegmenterOptions& options) {
  if (begins_iteration(node.op) || ends_iteration(node.op))
    return NativeReason{"loop", "it is part of a loop of TensorFlow 1, which runs natively"};
  if (options.denied_nodes.contains(node.name))
    return NativeReason{"denied_node", "it is in the list of nodes that stay native"};
  if (options.denied_operators.contains(node.op))
    return NativeReason{"denied_operator", fmt::format("operator {} is in the list of operators that stay "
                                                       "native (TF_TRT_OP_DENYLIST)",
                                                       one_line(node.op, longest_name))};
  if (options.pretended_operators.contains(node.op)) return std::nullopt;
  return node.reason;
}

class Segmenter {
public:
  Segmenter(const SegmenterGraph& graph, const SegmenterOptions& options)
      : options_(options), graph_(graph), segment_of_(graph_.size(), no_index), reasons_(graph_.size()) {}

  Segmentation run() {
    if (options_.minimum_segment_size < 0) {
      for (std::uint32_t i = 0; i < graph_.size(); ++i)
        set_reason(i, {"graph_left_alone", "minimum_segment_size is -1: the main graph is left alone"});
      return result();
    }
    find_clusters();
    trim_segments(graph_, segment_of_,
                  [this](std::uint32_t node, NativeReason reason) { set_reason(node, std::move(reason)); });
    collect();
    drop_small();
    for (Members& members : segments_) connect(members);
    drop_disconnected();
    drop_beyond_maximum();
    return result();
  }

private:
  template<typename T>
  using Set = std::set<T, std::less<>, CountedAllocator<T>>;

  /// A segment in the making: nodes by number, in topological order.
  struct Members {
    CountedVector<std::uint32_t> nodes;
    std::size_t counted = 0;
    Segment segment;
  };

  void set_reason(std::uint32_t node, NativeReason reason) {
    charge_.add(reason.text.size());
    reasons_[node] = std::move(reason);
  }

  void find_clusters() {
    CountedVector<std::uint8_t> candidates(graph_.size(), 0);
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      deadline_();
      auto reason = excluded(graph_.node(i), options_);
      candidates[i] = !reason;
      if (reason) set_reason(i, std::move(*reason));
    }
    Clusters clusters(graph_, candidates);
    clusters.join();
    for (std::uint32_t i = 0; i < graph_.size(); ++i)
      if (candidates[i]) segment_of_[i] = clusters.cluster(i);
  }

  void collect() {
    CountedVector<std::uint32_t> place(graph_.size(), no_index);
    const auto& order = graph_.consumers_first();
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      deadline_();
      const std::uint32_t cluster = segment_of_[*node];
      if (cluster == no_index) continue;
      if (place[cluster] == no_index) {
        place[cluster] = static_cast<std::uint32_t>(segments_.size());
        segments_.emplace_back();
      }
      Members& members = segments_[place[cluster]];
      members.nodes.push_back(*node);
      members.counted += is_counted(graph_.node(*node));
    }
  }

  /// `reason` gives the reason by the segment; nothing: it stays.
  template<typename Reason>
  void drop(Reason reason) {
    std::erase_if(segments_, [&](const Members& members) {
      deadline_(members.nodes.size());
      const std::optional<NativeReason> why = reason(members);
      if (!why) return false;
      for (const std::uint32_t node : members.nodes) {
        set_reason(node, *why);
        segment_of_[node] = no_index;
      }
      return true;
    });
  }

  std::string first_name(const Members& members) const {
    return one_line(graph_.node(members.nodes.front()).name, longest_name);
  }

  void drop_small() {
    const auto least = static_cast<std::size_t>(options_.minimum_segment_size);
    drop([&](const Members& members) -> std::optional<NativeReason> {
      if (members.counted >= least) return std::nullopt;
      return NativeReason{"segment_too_small",
                          fmt::format("its segment, from '{}' on, has {} nodes that count, and "
                                      "minimum_segment_size is {}",
                                      first_name(members), members.counted, least)};
    });
  }

  /// Inputs, outputs and constants in the order in which the segment's nodes come across them.
  void connect(Members& members) {
    Segment& segment = members.segment;
    const std::uint32_t own = segment_of_[members.nodes.front()];
    Set<NodeOutput> inputs;
    Set<std::uint32_t> constants;
    for (const std::uint32_t number : members.nodes) {
      segment.nodes.push_back(graph_.index_of(number));
      for (const NodeOutput& input : graph_.node(number).inputs) {
        deadline_();
        const std::uint32_t from = graph_.number_of(input.node);
        if (segment_of_[from] == own) continue;
        if (graph_.is_constant(from)) {
          if (constants.insert(input.node).second) segment.constants.push_back(input.node);
        } else if (inputs.insert(input).second) {
          segment.inputs.push_back(input);
        }
      }
      connect_outputs(segment, number, own);
    }
    connect_control(members, own);
  }

  void connect_outputs(Segment& segment, std::uint32_t number, std::uint32_t own) {
    Set<std::uint32_t> read;
    for (const std::uint32_t e : graph_.out(number)) {
      const GraphEdge& edge = graph_.edges()[e];
      if (edge.data && segment_of_[edge.to] != own) read.insert(edge.output);
    }
    for (const NodeOutput& fetched : graph_.fetched(number)) read.insert(fetched.output);
    for (const std::uint32_t output : read) segment.outputs.push_back({graph_.index_of(number), output});
  }

  void connect_control(Members& members, std::uint32_t own) {
    Set<std::uint32_t> before;
    for (const std::uint32_t number : members.nodes)
      for (const std::uint32_t e : graph_.in(number)) {
        const GraphEdge& edge = graph_.edges()[e];
        if (edge.data || segment_of_[edge.from] == own) continue;
        if (before.insert(edge.from).second)
          members.segment.control_inputs.push_back(graph_.index_of(edge.from));
      }
  }

  void drop_disconnected() {
    drop([](const Members& members) -> std::optional<NativeReason> {
      if (members.segment.inputs.empty())
        return NativeReason{"segment_without_inputs", "its segment has no inputs: it computes constants"};
      if (members.segment.outputs.empty())
        return NativeReason{"segment_without_outputs", "nothing outside of its segment reads the results"};
      return std::nullopt;
    });
  }

  void drop_beyond_maximum() {
    const auto most = static_cast<std::size_t>(options_.maximum_engines);
    if (most == 0 || segments_.size() <= most) return;
    std::vector<const Members*> largest;
    for (const Members& members : segments_) largest.push_back(&members);
    std::ranges::stable_sort(largest, [](const Members* a, const Members* b) {
      return a->counted != b->counted ? a->counted > b->counted : a->nodes.size() > b->nodes.size();
    });
    CountedVector<std::uint32_t> kept;
    for (std::size_t i = 0; i < most; ++i) kept.push_back(largest[i]->nodes.front());
    std::ranges::sort(kept);
    const std::size_t smallest = largest[most - 1]->counted, found = segments_.size();
    drop([&](const Members& members) -> std::optional<NativeReason> {
      if (std::ranges::binary_search(kept, members.nodes.front())) return std::nullopt;
      return NativeReason{"too_many_engines",
                          fmt::format("there are {} segments, of which the {} largest, with {} nodes that "
                                      "count or more, become engines (TF_TRT_MAX_ALLOWED_ENGINES); its "
                                      "segment has {}",
                                      found, most, smallest, members.counted)};
    });
  }

  Segmentation result() {
    Segmentation result;
    std::unordered_set<std::string_view> taken;
    for (std::uint32_t i = 0; i < graph_.size(); ++i) taken.insert(graph_.node(i).name);
    for (Members& members : segments_) {
      members.segment.name = engine_name(result.segments.size(), taken);
      result.segments.push_back(std::move(members.segment));
    }
    for (std::uint32_t index = 0; index < graph_.size(); ++index) {
      deadline_();
      const std::uint32_t number = graph_.number_of(index);
      if (segment_of_[number] == no_index) result.native.push_back({index, std::move(reasons_[number])});
    }
    return result;
  }

  std::string engine_name(std::size_t number, const std::unordered_set<std::string_view>& taken) const {
    std::string name = options_.names == EngineNames::segment
                           ? fmt::format("TRTEngineOp_{}", number)
                           : fmt::format("TRTEngineOp_{:03}_{:03}", options_.graph_number, number);
    while (taken.contains(name)) name += "_1";
    return name;
  }

  const SegmenterOptions& options_;
  const SortedGraph graph_;
  CountedVector<std::uint32_t> segment_of_; ///< By number: a number that the nodes of a segment share.
  CountedVector<NativeReason> reasons_;
  Charge charge_{current_account()}; ///< The texts of the reasons.
  std::vector<Members> segments_;
  PacedDeadline deadline_;
};

} // namespace

Segmentation segment_graph(const SegmenterGraph& graph, const SegmenterOptions& options) {
  check(options.minimum_segment_size > 0 || options.minimum_segment_size == -1, ErrorCode::invalid_argument,
        "minimum_segment_size is {}, expected above 0, or -1 to leave the main graph alone",
        options.minimum_segment_size);
  check(options.maximum_engines >= 0, ErrorCode::invalid_argument,
        "maximum_engines is {}, expected 0 (no limit) or above", options.maximum_engines);
  return Segmenter(graph, options).run();
}

std::string input_binding(std::size_t number) {
  return fmt::format("TensorRTInputPH_{}", number);
}
std::string output_binding(std::size_t number) {
  return fmt::format("TensorRTOutputPH_{}", number);
}

} // namespace lanner::tf
