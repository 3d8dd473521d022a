#pragma once
// Which backends there are.

#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"

namespace lanner {

/// Names of backends that may be left out: those of `names`, each once, in the order in which backends are
/// asked; all of them where it is empty. Throws Error{invalid_argument} for another name, Error{unsupported}
/// where `names` has one whose module is missing here.
std::vector<std::string> checked_backends(std::span<const std::string> names);
/// Throws Error{invalid_argument} where those that are left have no kernels for the device.
void check_backends(Device device, std::span<const std::string> names);

/// The backends that serve `target`, fastest first, reference kernels last. They live as long as the process.
/// Those that are not in `names` are left out, but for reference kernels and those of operators from outside;
/// empty: none is. The module with oneDNN is opened by the first call that needs it; without it the others
/// serve alone.
std::vector<const Backend*> backends_for(const Target& target, std::span<const std::string> names = {});

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
