#include "passes/rewriting/arrangement.h"

#include <algorithm>

namespace lanner::passes {

namespace {

/// a / b where b is known to divide it.
std::optional<Dim> quotient(const Dim& a, const Dim& b) {
  if (b.constant() == 0 || a.constant() == 0) return std::nullopt;
  const Dim result = floor_div(a, b);
  return result * b == a ? std::optional(result) : std::nullopt;
}

} // namespace

Arrangement::Arrangement(const Dims& source) : source_dims_(source), result_dims_(source) {
  for (const Dim& dim : source) {
    source_.emplace_back();
    if (dim == Dim(1)) continue;
    source_.back().push_back(sizes_.size());
    sizes_.push_back(dim);
  }
  result_ = source_;
}

void Arrangement::transpose(const ops::Permutation& p) {
  const std::vector<Axis> axes = result_;
  const Dims dims = result_dims_;
  for (std::size_t i = 0; i < p.size(); ++i) {
    result_[i] = axes[static_cast<std::size_t>(p[i])];
    result_dims_[i] = dims[static_cast<std::size_t>(p[i])];
  }
}

std::vector<std::size_t> Arrangement::factors(const std::vector<Axis>& axes) const {
  std::vector<std::size_t> all;
  for (const Axis& axis : axes) all.insert(all.end(), axis.begin(), axis.end());
  return all;
}

Dim Arrangement::size(const Axis& axis) const {
  Dim size(1);
  for (std::size_t factor : axis) size = size * sizes_[factor];
  return size;
}

/// The factor becomes the outer part; a new one behind it is the inner part.
void Arrangement::split_factor(std::size_t factor, const Dim& outer, const Dim& inner) {
  sizes_[factor] = outer;
  const std::size_t added = sizes_.size();
  sizes_.push_back(inner);
  for (std::vector<Axis>* axes : {&source_, &result_}) {
    for (Axis& axis : *axes) {
      const auto place = std::ranges::find(axis, factor);
      if (place != axis.end()) axis.insert(place + 1, added);
    }
  }
}

bool Arrangement::reshape(const Dims& to) {
  std::vector<Axis> regrouped;
  std::size_t used = 0;
  for (const Dim& dim : to) {
    Axis axis;
    Dim rest = dim;
    while (rest != Dim(1)) {
      const std::vector<std::size_t> all = factors(result_);
      if (used == all.size()) return false;
      const std::size_t factor = all[used];
      const Dim size = sizes_[factor];
      if (const auto more = quotient(rest, size)) {
        rest = *more;
      } else if (const auto inner = quotient(size, rest)) {
        split_factor(factor, rest, *inner);
        rest = Dim(1);
      } else {
        return false;
      }
      axis.push_back(factor);
      ++used;
    }
    regrouped.push_back(std::move(axis));
  }
  if (used != factors(result_).size()) return false;
  result_ = std::move(regrouped);
  result_dims_ = to;
  return true;
}

bool Arrangement::keeps_last() const {
  return !source_.empty() && !result_.empty() && source_.back() == result_.back() && !source_.back().empty();
}

bool Arrangement::keeps_order() const {
  return factors(source_) == factors(result_);
}

void Arrangement::set_last(const Dim& size) {
  set_size(source_.size() - 1, result_.size() - 1, size);
}

void Arrangement::set_size(std::size_t source_axis, std::size_t axis, const Dim& size) {
  Axis factor;
  if (size != Dim(1)) {
    factor.push_back(sizes_.size());
    sizes_.push_back(size);
  }
  source_[source_axis] = factor;
  result_[axis] = factor;
  source_dims_[source_axis] = size;
  result_dims_[axis] = size;
}

std::optional<std::size_t> Arrangement::isolate(std::size_t axis) {
  const Axis& wanted = result_[axis];
  if (wanted.empty()) return std::nullopt;
  for (std::size_t i = 0; i < source_.size(); ++i) {
    const auto found = std::search(source_[i].begin(), source_[i].end(), wanted.begin(), wanted.end());
    if (found == source_[i].end()) continue;
    const auto behind = found + static_cast<std::ptrdiff_t>(wanted.size());
    const Axis before(source_[i].begin(), found), after(behind, source_[i].end());
    if (before.empty() && after.empty()) return i;
    source_.erase(source_.begin() + static_cast<std::ptrdiff_t>(i));
    std::size_t at = i;
    for (const Axis& part : {before, wanted, after})
      if (!part.empty()) source_.insert(source_.begin() + static_cast<std::ptrdiff_t>(at++), part);
    source_dims_.clear();
    for (const Axis& part : source_) source_dims_.push_back(size(part));
    return before.empty() ? i : i + 1;
  }
  return std::nullopt;
}

Arrangement Arrangement::take_last() {
  Arrangement first = *this;
  const Axis last = result_.back();
  first.result_.clear();
  for (const Axis& axis : source_) {
    Axis rows;
    for (std::size_t factor : axis)
      if (std::ranges::find(last, factor) == last.end()) rows.push_back(factor);
    if (!rows.empty() || axis.empty()) first.result_.push_back(rows);
  }
  first.result_.push_back(last);
  first.result_dims_.clear();
  for (const Axis& axis : first.result_) first.result_dims_.push_back(size(axis));
  source_ = first.result_;
  source_dims_ = first.result_dims_;
  return first;
}

/// The permutation of whole dims, where it is one; dims of size 1 stay in order.
std::optional<ops::Permutation> Arrangement::permutation() const {
  if (source_.size() != result_.size()) return std::nullopt;
  ops::Permutation order;
  std::vector<bool> taken(source_.size());
  for (const Axis& axis : result_) {
    std::size_t from = 0;
    while (from < source_.size() && (taken[from] || source_[from] != axis)) ++from;
    if (from == source_.size()) return std::nullopt;
    taken[from] = true;
    order.push_back(static_cast<std::int64_t>(from));
  }
  return order;
}

Arrangement::Moves Arrangement::moves() const {
  if (const auto order = permutation()) return {source_dims_, *order};
  std::vector<std::size_t> axis_of(sizes_.size()), piece_of(sizes_.size());
  for (std::size_t i = 0; i < source_.size(); ++i)
    for (std::size_t factor : source_[i]) axis_of[factor] = i;
  const std::vector<std::size_t> order = factors(source_);
  const auto joins = [&](std::size_t outer, std::size_t inner) {
    const auto place = std::ranges::find(order, outer);
    return axis_of[outer] == axis_of[inner] && place + 1 != order.end() && place[1] == inner;
  };
  // Runs of factors that are in one dim of the source and in one of the result.
  std::vector<Axis> pieces;
  for (const Axis& axis : result_) {
    for (std::size_t i = 0; i < axis.size(); ++i) {
      if (i == 0 || !joins(axis[i - 1], axis[i])) pieces.emplace_back();
      pieces.back().push_back(axis[i]);
    }
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) piece_of[pieces[i].front()] = i;
  Moves moves;
  moves.order.resize(pieces.size());
  for (std::size_t factor : order) {
    const std::size_t piece = piece_of[factor];
    if (piece >= pieces.size() || pieces[piece].front() != factor) continue;
    moves.order[piece] = static_cast<std::int64_t>(moves.split.size());
    moves.split.push_back(size(pieces[piece]));
  }
  return moves;
}

} // namespace lanner::passes
