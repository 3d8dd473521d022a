#pragma once
// Memory nodes: machines of several sockets have memory of their own beside each, and a thread that works on
// another socket's waits for it.

#include <pthread.h>

#include <filesystem>
#include <vector>

namespace lanner {

/// Numbers of cores, ascending.
using Cores = std::vector<int>;

/// Those of each memory node that has any (Linux, "NUMA policy", sysfs); none where the system does not say.
std::vector<Cores> memory_nodes(const std::filesystem::path& folder = "/sys/devices/system/node");
/// Those that the calling thread may run on.
Cores allowed_cores();

/// The most of the allowed cores that one node has; all of them where no node is known.
int cores_of_one_node(const std::vector<Cores>& nodes, const Cores& allowed);
/// The allowed cores of a node, where they are enough for so many threads; else all that are allowed.
Cores cores_for_team(const std::vector<Cores>& nodes, const Cores& allowed, int node, int threads);

/// The node that core `core` belongs to, -1 where none is known.
int node_of(const std::vector<Cores>& nodes, int core) noexcept;

/// Keeps a thread to these cores; it goes on where it is where the system refuses.
void keep_to(pthread_t thread, const Cores& cores) noexcept;

} // namespace lanner
