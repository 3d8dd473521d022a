#pragma once
// NUMA nodes: machines with several sockets have memory attached to each, and a thread that works on memory
// of another socket waits for it.

#include <pthread.h>

#include <filesystem>
#include <vector>

namespace lanner {

/// Numbers of cores, ascending.
using Cores = std::vector<int>;

/// The cores of each NUMA node that has any (Linux, "NUMA policy", sysfs); none where the system does not
/// say.
std::vector<Cores> memory_nodes(const std::filesystem::path& folder = "/sys/devices/system/node");
/// The cores that the calling thread may run on.
Cores allowed_cores();

/// The largest number of allowed cores on one node; all allowed cores where no node is known.
int cores_of_one_node(const std::vector<Cores>& nodes, const Cores& allowed);
/// The allowed cores of a node, where they are enough for that many threads; else all allowed cores.
Cores cores_for_team(const std::vector<Cores>& nodes, const Cores& allowed, int node, int threads);

/// The node that core `core` belongs to, -1 where none is known.
int node_of(const std::vector<Cores>& nodes, int core) noexcept;

/// Sets a thread's affinity to these cores; ignored where the system refuses.
void keep_to(pthread_t thread, const Cores& cores) noexcept;

} // namespace lanner
