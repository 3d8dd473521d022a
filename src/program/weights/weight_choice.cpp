#include "program/weights/weight_choice.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace lanner {
namespace {

/// For smaller copies the latency dominates, not the bytes.
constexpr std::uint64_t min_streamed = 64 << 10;

/// 0, 1/2, 1/4, 3/4, 1/8 (van der Corput sequence): any first n of these numbers are evenly spread.
double spread_position(std::uint64_t number) {
  double position = 0, part = 0.5;
  for (; number > 0; number >>= 1, part /= 2)
    if (number & 1) position += part;
  return position;
}

class Chooser {
public:
  Chooser(std::span<const WeightNeeds* const> programs, std::optional<std::uint64_t> budget)
      : budget_(budget) {
    for (const WeightNeeds* needs : programs) note(*needs);
    for (const Form& form : forms_) {
      made_.bytes.all += form.bytes;
      if (form.streamable) made_.bytes.streamable += form.bytes;
    }
    for (const WeightNeeds* needs : programs) note_blocks(*needs);
  }

  WeightChoice run() {
    WeightBytes& bytes = made_.bytes;
    streamed_.resize(forms_.size());
    for (std::size_t f = 0; f < forms_.size(); ++f) streamed_[f] = forms_[f].streamable;
    const std::uint64_t fixed = bytes.all - bytes.streamable;
    bytes.least = std::min(fixed + ring(false), bytes.all);
    check(!budget_ || *budget_ >= bytes.least, ErrorCode::invalid_argument,
          "weight budget: {} bytes are too few for weights of {} bytes: the network runs with {} at least",
          budget_.value_or(0), bytes.all, bytes.least);
    bytes.resident = fixed;
    if (!budget_ || *budget_ >= bytes.all)
      keep_all();
    else
      keep_largest();
    for (std::size_t f = 0; f < forms_.size(); ++f)
      if (streamed_[f]) made_.streamed.insert(forms_[f].key);
    return std::move(made_);
  }

private:
  struct Form {
    WeightForm key;
    std::uint64_t bytes = 0; ///< Of device memory.
    bool streamable = true;
    std::size_t first = SIZE_MAX; ///< Of the programs' readers.
  };
  /// The streamable weights that a step reads, by index of form.
  struct Block {
    std::size_t segment = 0;
    std::vector<std::size_t> forms;
  };

  void note(const WeightNeeds& needs) {
    for (std::size_t c = 0; c < needs.forms.size(); ++c) {
      if (needs.devices[c] != needs.device) continue;
      const WeightForm key = form_of(needs.forms[c], needs.device);
      const auto [entry, fresh] = numbers_.emplace(key, forms_.size());
      if (fresh) forms_.push_back({key, aligned_weight(key.bytes)});
      Form& form = forms_[entry->second];
      form.streamable = form.streamable && needs.recorded[c] && key.bytes >= min_streamed;
    }
  }

  void note_blocks(const WeightNeeds& needs) {
    std::vector<Block>& blocks = programs_.emplace_back();
    for (const WeightNeeds::Reader& reader : needs.readers) {
      Block block{reader.segment, {}};
      for (const std::uint32_t constant : reader.constants) {
        if (needs.devices[constant] != needs.device) continue;
        const std::size_t number = numbers_.at(form_of(needs.forms[constant], needs.device));
        if (!forms_[number].streamable) continue;
        block.forms.push_back(number);
        forms_[number].first = std::min(forms_[number].first, readers_);
      }
      ++readers_;
      if (!block.forms.empty()) blocks.push_back(std::move(block));
    }
  }

  std::uint64_t bytes_of(const Block& block) const {
    std::uint64_t bytes = 0;
    for (const std::size_t form : block.forms)
      if (streamed_[form]) bytes += forms_[form].bytes;
    return bytes;
  }

  /// Size of a ring that holds each block, or each pair of consecutive ones.
  std::uint64_t ring(bool pairs) const {
    std::uint64_t most = 0;
    for (const std::vector<Block>& blocks : programs_) {
      std::uint64_t before = 0;
      std::size_t segment = SIZE_MAX;
      for (const Block& block : blocks) {
        const std::uint64_t bytes = bytes_of(block);
        if (bytes == 0) continue;
        if (block.segment != segment) before = 0;
        most = std::max(most, bytes + (pairs ? before : 0));
        before = bytes, segment = block.segment;
      }
    }
    return most;
  }

  /// Upper bound of a useful ring: all weights that a segment streams.
  std::uint64_t largest_ring() const {
    std::uint64_t most = 0;
    for (const std::vector<Block>& blocks : programs_) {
      std::map<std::size_t, std::uint64_t> segments;
      for (const Block& block : blocks) most = std::max(most, segments[block.segment] += bytes_of(block));
    }
    return most;
  }

  void keep_all() {
    made_.bytes.resident = made_.bytes.all;
    streamed_.assign(forms_.size(), false);
  }

  void keep_largest() {
    WeightBytes& bytes = made_.bytes;
    for (const std::size_t form : by_worth()) {
      streamed_[form] = false;
      const std::uint64_t resident = bytes.resident + forms_[form].bytes;
      if (resident + ring(true) <= *budget_)
        bytes.resident = resident;
      else
        streamed_[form] = true;
    }
    bytes.ring = std::min(*budget_ - bytes.resident, largest_ring());
  }

  /// Largest first; equal ones in an order in which any prefix of them is spread over the run.
  std::vector<std::size_t> by_worth() const {
    std::vector<std::size_t> order;
    for (std::size_t f = 0; f < forms_.size(); ++f)
      if (forms_[f].streamable) order.push_back(f);
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return std::pair(forms_[b].bytes, forms_[a].first) < std::pair(forms_[a].bytes, forms_[b].first);
    });
    const auto equal = [&](std::size_t a, std::size_t b) { return forms_[a].bytes == forms_[b].bytes; };
    for (auto first = order.begin(); first != order.end();) {
      const auto end = std::find_if_not(first, order.end(), [&](std::size_t f) { return equal(*first, f); });
      spread({first, end});
      first = end;
    }
    return order;
  }

  static void spread(std::span<std::size_t> equal) {
    const std::vector<std::size_t> given(equal.begin(), equal.end());
    std::vector<bool> taken(given.size());
    std::size_t count = 0;
    for (std::uint64_t number = 0; count < given.size(); ++number) {
      const auto at = static_cast<std::size_t>(spread_position(number) * static_cast<double>(given.size()));
      if (taken[at]) continue;
      taken[at] = true;
      equal[count++] = given[at];
    }
  }

  std::optional<std::uint64_t> budget_;
  std::vector<Form> forms_;
  std::map<WeightForm, std::size_t> numbers_;
  std::vector<std::vector<Block>> programs_;
  std::size_t readers_ = 0;
  std::vector<bool> streamed_; ///< By form.
  WeightChoice made_;
};

} // namespace

WeightForm form_of(const Tensor& form, Device device) {
  return {device, form.data(), form.dtype() == DType::string ? 0 : form.bytes()};
}

std::uint64_t aligned_weight(std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

WeightChoice choose_weights(std::span<const WeightNeeds* const> programs,
                            std::optional<std::uint64_t> budget) {
  return Chooser(programs, budget).run();
}

} // namespace lanner
