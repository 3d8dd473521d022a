#pragma once
// The list of backends.

#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"

namespace lanner {

/// Validates a choice of backends: returns those of `names`, each once, in the order in which backends are
/// tried; all of them where it is empty. Throws Error{invalid_argument} for an unknown name,
/// Error{unsupported} where the module of a named backend is missing.
std::vector<std::string> checked_backends(std::span<const std::string> names);
/// Throws Error{invalid_argument} where the chosen backends have no kernels for the device.
void check_backends(Device device, std::span<const std::string> names);

/// The backends that serve `target`, fastest first, reference kernels last. They live as long as the process.
/// Backends not in `names` are left out, except the reference kernels and those of custom operators; an empty
/// `names` leaves none out. The oneDNN module is opened by the first call that needs it; without it the
/// others serve alone.
std::vector<const Backend*> backends_for(const Target& target, std::span<const std::string> names = {});

/// Everything that timings on a device depend on: CPU features, or a GPU's name and architecture with the
/// versions of its libraries. Part of plans and timing keys. Throws Error{unsupported} for a GPU that cannot
/// be used.
std::string isa_of(Device device);

/// A backend and why it is available or not, for `lanner doctor`.
struct BackendStatus {
  std::string name;
  bool found = false;
  std::string detail; ///< Version and path, or the reason with the remedy.
};
std::vector<BackendStatus> backend_statuses();
/// The libraries that provide GPU kernels; empty where there is no GPU.
std::vector<BackendStatus> gpu_library_statuses();

} // namespace lanner
