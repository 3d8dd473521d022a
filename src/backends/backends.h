#pragma once
// Which backends there are.

#include <string>
#include <vector>

#include "graph/tactic.h"

namespace lanner {

/// The backends that serve `target`, fastest first, reference kernels last. They live as long as the process.
/// The module with oneDNN is opened by the first call that needs it; without it the others serve alone.
std::vector<const Backend*> backends_for(const Target& target);

/// What timings on a device depend on: CPU features, or a GPU's name and architecture with the libraries that
/// run there. Plans and timing keys hold it. Throws Error{unsupported} for a GPU that cannot be used.
std::string isa_of(Device device);

/// A backend and why it is or is not there, for `lanner doctor`.
struct BackendStatus {
  std::string name;
  bool found = false;
  std::string detail; ///< Version and path, or the reason with the remedy.
};
std::vector<BackendStatus> backend_statuses();
/// The libraries that kernels on a GPU come from; none where there is no GPU.
std::vector<BackendStatus> gpu_library_statuses();

} // namespace lanner
