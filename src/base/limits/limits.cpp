#include <lanner/limits.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/ranges.h>

#include <lanner/error.h>
#include <lanner/nearest.h>

#include "base/check.h"
#include "base/limits/control_groups.h"
#include "base/limits/limit_table.h"

namespace lanner {
namespace {

std::uint64_t machine_memory() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
}

template<typename T>
T parse_amount(std::string_view name, std::string_view text) {
  static constexpr std::pair<std::string_view, double> units[] = {
      {"", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const auto* known =
      std::find_if(std::begin(units), std::end(units), [&](auto& u) { return u.first == unit; });
  const bool right = error == std::errc() && known != std::end(units) && std::isfinite(value) && value >= 0;
  const double amount = right ? value * known->second : -1;
  check(right && amount < static_cast<double>(std::numeric_limits<T>::max()), ErrorCode::invalid_argument,
        "limit {}: got {}, expected a number, with KiB, MiB, GiB or TiB for bytes", name, text);
  return static_cast<T>(amount);
}

} // namespace

std::uint64_t default_total_bytes() noexcept {
  static const std::uint64_t bytes = []() noexcept -> std::uint64_t {
    constexpr std::uint64_t unknown = 64ull << 30;
    const std::uint64_t machine = machine_memory();
    std::uint64_t memory = machine > 0 ? machine : unknown;
    try {
      const std::uint64_t group = group_memory(own_groups(), "/sys/fs/cgroup");
      if (group > 0) memory = std::min(memory, group);
    } catch (...) {
      // Without a readable group limit the machine's memory is the bound.
    }
    return memory / 4 * 3;
  }();
  return bytes;
}

void set_limit(Limits& limits, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  bool known = false;
  std::vector<std::string> names;
  for_each_limit([&](std::string_view each, auto member) {
    names.emplace_back(each);
    if (each != name || equals == std::string_view::npos) return;
    auto& limit = limits.*member;
    limit = parse_amount<std::remove_reference_t<decltype(limit)>>(name, assignment.substr(equals + 1));
    known = true;
  });
  check(known, ErrorCode::invalid_argument, "limit {}: expected NAME=VALUE, where NAME is one of {}{}",
        assignment, fmt::join(names, ", "), did_you_mean(name, names));
}

std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, std::uint64_t bound, std::string_view what) {
  std::uint64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &product);
  check(!overflow && product <= bound, ErrorCode::limit_exceeded,
        "{}: {} x {} is over the limit of {}; if the input is trusted, raise the limit", what, a, b, bound);
  return product;
}

} // namespace lanner
