#include "device/numa.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace lanner {
namespace {

namespace fs = std::filesystem;

constexpr int max_cores = 1 << 16;

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpuSet>;

std::size_t bytes_of(int cores) {
  return CPU_ALLOC_SIZE(static_cast<std::size_t>(cores));
}

int number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value < max_cores ? value : -1;
}

/// Parses `0-3,8,10-11`; stops at invalid text.
Cores parse_list(std::string_view text) {
  Cores cores;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    const std::size_t dash = range.find('-');
    const int first = number(range.substr(0, dash)),
              last = dash == range.npos ? first : number(range.substr(dash + 1));
    if (first < 0 || last < first) break;
    for (int core = first; core <= last; ++core) cores.push_back(core);
    text.remove_prefix(std::min(text.size(), range.size() + 1));
  }
  std::ranges::sort(cores);
  return cores;
}

Cores common(const Cores& a, const Cores& b) {
  Cores both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

} // namespace

std::vector<Cores> memory_nodes(const fs::path& folder) {
  std::map<int, Cores> nodes;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!name.starts_with("node") || number(std::string_view(name).substr(4)) < 0) continue;
    std::ifstream file(it->path() / "cpulist");
    std::string line;
    std::getline(file, line);
    if (Cores cores = parse_list(line); !cores.empty())
      nodes[number(std::string_view(name).substr(4))] = std::move(cores);
  }
  std::vector<Cores> list;
  for (auto& [node, cores] : nodes) list.push_back(std::move(cores));
  return list;
}

Cores allowed_cores() {
  Cores cores;
  for (int count = 1024; count <= max_cores && cores.empty(); count *= 4) {
    const CpuSet set(CPU_ALLOC(static_cast<std::size_t>(count)));
    if (!set) break;
    if (::sched_getaffinity(0, bytes_of(count), set.get()) != 0) continue;
    for (int core = 0; core < count; ++core)
      if (CPU_ISSET_S(static_cast<std::size_t>(core), bytes_of(count), set.get())) cores.push_back(core);
  }
  if (cores.empty())
    for (int core = 0; core < std::max(1, static_cast<int>(std::thread::hardware_concurrency())); ++core)
      cores.push_back(core);
  return cores;
}

int cores_of_one_node(const std::vector<Cores>& nodes, const Cores& allowed) {
  std::size_t most = 0;
  for (const Cores& node : nodes) most = std::max(most, common(node, allowed).size());
  return static_cast<int>(most > 0 ? most : allowed.size());
}

int node_of(const std::vector<Cores>& nodes, int core) noexcept {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (std::ranges::binary_search(nodes[i], core)) return static_cast<int>(i);
  return -1;
}

Cores cores_for_team(const std::vector<Cores>& nodes, const Cores& allowed, int node, int threads) {
  if (node < 0) return allowed;
  Cores own = common(nodes.at(static_cast<std::size_t>(node)), allowed);
  return own.size() >= static_cast<std::size_t>(threads) ? own : allowed;
}

void keep_to(pthread_t thread, const Cores& cores) noexcept {
  if (cores.empty()) return;
  const int count = cores.back() + 1;
  const CpuSet set(CPU_ALLOC(static_cast<std::size_t>(count)));
  if (!set) return;
  CPU_ZERO_S(bytes_of(count), set.get());
  for (const int core : cores) CPU_SET_S(static_cast<std::size_t>(core), bytes_of(count), set.get());
  static_cast<void>(::pthread_setaffinity_np(thread, bytes_of(count), set.get()));
}

} // namespace lanner
