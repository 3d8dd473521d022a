#include "engine/sample_shapes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"

namespace lanner {
namespace {

constexpr std::int64_t picture_size = 224;
/// Common sizes in networks: of pictures, strides, windows and audio frames.
constexpr std::array<std::int64_t, 44> usual = {1,   2,   3,   4,   5,   6,   7,    8,    10,   12,   16,
                                                20,  24,  28,  32,  40,  48,  64,   80,   96,   100,  112,
                                                128, 160, 192, 224, 256, 299, 300,  320,  384,  400,  416,
                                                448, 480, 512, 576, 640, 800, 1024, 1280, 1536, 4096, 16000};
/// Bound of the shape inferences in a search.
constexpr std::size_t max_tries = 600;
/// Larger sizes inside a model are tables, not lengths.
constexpr std::int64_t largest_inside = 200'000;
constexpr std::size_t max_rank_tried = 4;

enum class Role : std::uint8_t { batch, state, side, length };

/// An open size without a known value.
struct OpenSize {
  std::string name;
  Role role = Role::length;
  std::size_t input = 0; ///< The first input with it.
  SymbolInfo range;
};

bool is_channels(const Dim& dim) {
  const auto size = dim.constant();
  return size && (*size == 1 || *size == 3 || *size == 4);
}

/// Whether dim `d` of an input is a side of a picture.
bool is_side(const Dims& dims, std::size_t d) {
  if (dims.size() != 4) return false;
  return is_channels(dims[1]) ? d >= 2 : is_channels(dims[3]) && (d == 1 || d == 2);
}

class Search {
public:
  Search(const Graph& graph, const SampleWishes& wishes) : graph_(graph), wishes_(wishes) {
    known_ = bind_shapes(graph, wishes.given);
    if (wishes.batch > 0) set_batch();
    if (wishes.opt) known_.merge(bind_shapes(graph, given_shapes(graph, *wishes.opt)));
    known_.merge(known_sizes(graph));
    for (std::size_t i = 0; i < graph.body().parameters().size(); ++i) gather(i);
    growing_ =
        those([](const OpenSize& size) { return size.role == Role::side || size.role == Role::length; });
    gather_sizes();
  }

  InputShapes run() {
    if (open_.empty() && !any_rank_) return shapes_at(known_);
    for (std::size_t rank = 0; rank <= (any_rank_ ? max_rank_tried : 0); ++rank) {
      rank_ = rank;
      for (const std::int64_t state :
           has_states() ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0}) {
        first_state_ = state;
        if (auto found = grown()) return *std::move(found);
      }
    }
    fail(ErrorCode::invalid_argument,
         "no sizes were found that the model takes for {}; give them: --shape{}, or shapes= where it is "
         "built or "
         "verified",
         open_inputs_text(graph_), asked_shapes());
  }

private:
  /// ` ids:NxL`: the shape of each input with open sizes, as far as known.
  std::string asked_shapes() const {
    std::set<std::size_t> inputs;
    for (const OpenSize& size : open_) inputs.insert(size.input);
    std::string text;
    for (const std::size_t input : inputs) {
      const Value& value = *graph_.body().parameter(input);
      text += fmt::format(" {}:", value.name());
      if (!value.type.ranked()) text += "SIZES";
      for (std::size_t d = 0; value.type.ranked() && d < value.type.rank(); ++d)
        text += fmt::format("{}{}", d == 0 ? "" : "x", value.type.dims()[d].to_string());
    }
    return text.empty() ? " INPUT:SIZES" : text;
  }

  bool has_states() const {
    return std::ranges::any_of(open_, [](const OpenSize& size) { return size.role == Role::state; });
  }

  bool is_state(std::size_t input) const {
    return std::ranges::find(wishes_.states, input) != wishes_.states.end();
  }

  void set_batch() {
    for (std::size_t i = 0; i < graph_.body().parameters().size(); ++i) {
      const Type& type = graph_.body().parameter(i)->type;
      if (wishes_.given[i] || is_state(i) || !type.is_tensor() || !type.ranked() || type.rank() == 0)
        continue;
      if (const auto name = type.dims()[0].as_symbol()) known_.emplace(*name, wishes_.batch);
    }
  }

  void gather(std::size_t i) {
    const Type& type = graph_.body().parameter(i)->type;
    if (!type.is_tensor() || wishes_.given[i]) return;
    any_rank_ = any_rank_ || (!type.ranked() && !wishes_.opt);
    if (!type.ranked()) return;
    for (std::size_t d = 0; d < type.rank(); ++d) {
      std::set<std::string> names;
      type.dims()[d].collect_symbols(names);
      for (const std::string& name : names) add(name, i, d);
    }
  }

  void add(const std::string& name, std::size_t input, std::size_t d) {
    if (known_.contains(name)) return;
    const Dims& dims = graph_.body().parameter(input)->type.dims();
    const Role role = is_state(input)              ? Role::state
                      : d == 0 && dims.size() >= 2 ? Role::batch
                      : is_side(dims, d)           ? Role::side
                                                   : Role::length;
    const auto [entry, fresh] = index_of_.emplace(name, open_.size());
    const auto found = open_.begin() + static_cast<std::ptrdiff_t>(entry->second);
    if (fresh) {
      const auto symbol = graph_.symbols.find(name);
      open_.push_back({name, role, input, symbol == graph_.symbols.end() ? SymbolInfo{} : symbol->second});
    } else if (found->role == Role::state || role == Role::batch) {
      found->role = role; // the given shapes decide
    }
  }

  void gather_sizes() {
    std::set<std::int64_t> all(usual.begin(), usual.end());
    for (const std::int64_t size : sizes_inside(graph_))
      if (size <= largest_inside) all.insert(size);
    sizes_.assign(all.begin(), all.end());
  }

  std::int64_t first_of(const OpenSize& size) const {
    const std::int64_t wanted = size.role == Role::state ? first_state_ : 1;
    return std::clamp(wanted, size.range.min, size.range.max);
  }

  InputShapes shapes_at(const Bindings& sizes) const {
    InputShapes shapes = shapes_with(graph_, sizes);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Type& type = graph_.body().parameter(i)->type;
      if (wishes_.given[i])
        shapes[i] = *wishes_.given[i];
      else if (type.is_tensor() && !type.ranked() && wishes_.opt)
        shapes[i] = (*wishes_.opt)[i];
      else if (type.is_tensor() && !type.ranked())
        for (std::size_t d = 0; d < rank_; ++d) shapes[i].push_back(1);
    }
    return shapes;
  }

  /// The shapes with these sizes instead of the first ones, if the model accepts them.
  std::optional<InputShapes> tried(const std::map<const OpenSize*, std::int64_t>& grown) {
    if (++tries_ > max_tries) return std::nullopt;
    check_deadline();
    Bindings sizes = known_;
    for (const OpenSize& size : open_) sizes[size.name] = first_of(size);
    for (const auto& [size, value] : grown) {
      if (value < size->range.min || value > size->range.max) return std::nullopt;
      sizes[size->name] = value;
    }
    InputShapes shapes = shapes_at(sizes);
    if (!takes_shapes(graph_, given_shapes(graph_, shapes))) return std::nullopt;
    return shapes;
  }

  /// The shapes with the first of `sizes` that the model accepts for all of `which` at once.
  std::optional<InputShapes> together(const std::vector<const OpenSize*>& which,
                                      std::span<const std::int64_t> sizes) {
    if (which.empty()) return std::nullopt;
    for (const std::int64_t size : sizes) {
      std::map<const OpenSize*, std::int64_t> grown;
      for (const OpenSize* one : which) grown[one] = size;
      if (auto found = tried(grown)) return found;
    }
    return std::nullopt;
  }

  template<typename Which>
  std::vector<const OpenSize*> those(Which&& which) const {
    std::vector<const OpenSize*> list;
    for (const OpenSize& size : open_)
      if (which(size)) list.push_back(&size);
    return list;
  }

  /// Tries sizes that belong together first, then more combinations.
  std::optional<InputShapes> grown() {
    const auto sides = those([](const OpenSize& size) { return size.role == Role::side; });
    const std::array picture{picture_size};
    if (auto found = together(sides, picture)) return found;
    if (auto found = tried({})) return found;
    if (auto found = together(sides, sizes_)) return found;
    if (auto found = together(growing_, sizes_)) return found;
    for (const OpenSize* one : growing_)
      if (auto found = together({one}, sizes_)) return found;
    std::set<std::size_t> inputs;
    for (const OpenSize* one : growing_) inputs.insert(one->input);
    for (const std::size_t input : inputs)
      if (auto found = together(those([&](const OpenSize& size) {
                                  return size.input == input &&
                                         (size.role == Role::side || size.role == Role::length);
                                }),
                                sizes_))
        return found;
    // A model may have an open batch but a fixed one from its export inside.
    if (auto found = together(those([](const OpenSize& size) { return size.role == Role::batch; }), sizes_))
      return found;
    return pairs();
  }

  /// Tries pairs of different sizes.
  std::optional<InputShapes> pairs() {
    for (std::size_t sum = 1; sum < 2 * sizes_.size(); ++sum)
      for (std::size_t a = 0; a < growing_.size(); ++a)
        for (std::size_t b = a + 1; b < growing_.size(); ++b)
          for (std::size_t k = sum < sizes_.size() ? 0 : sum - sizes_.size() + 1;
               k <= sum && k < sizes_.size(); ++k) {
            if (tries_ >= max_tries) return std::nullopt;
            if (k == sum - k) continue;
            if (auto found = tried({{growing_[a], sizes_[k]}, {growing_[b], sizes_[sum - k]}})) return found;
          }
    return std::nullopt;
  }

  const Graph& graph_;
  const SampleWishes& wishes_;
  Bindings known_;
  std::vector<OpenSize> open_;
  std::map<std::string, std::size_t> index_of_; ///< Index in `open_` by name.
  std::vector<const OpenSize*> growing_;        ///< Sizes that may have to be larger than at first.
  std::vector<std::int64_t> sizes_;
  bool any_rank_ = false;
  std::size_t rank_ = 0; ///< Of inputs of any rank.
  std::int64_t first_state_ = 0;
  std::size_t tries_ = 0;
};

} // namespace

InputShapes sample_shapes(const Graph& graph, const SampleWishes& wishes) {
  return Search(graph, wishes).run();
}

} // namespace lanner
