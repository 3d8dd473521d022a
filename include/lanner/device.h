#pragma once
// Devices and streams.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanner {

enum class DeviceKind : std::uint8_t { cpu, cuda };

/// A device that holds memory and runs work. `cpu` or `cuda:0`.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::int16_t index = 0;

  bool is_host() const noexcept { return kind == DeviceKind::cpu; }
  std::string to_string() const;
  static Device parse(std::string_view text); ///< `cpu`, `cuda`, `cuda:1`. Throws Error{invalid_argument}.
  friend auto operator<=>(const Device&, const Device&) = default;
};

/// An ordered queue of work. For the CPU it is null: work is done when the call returns. For CUDA it is the
/// caller's `CUstream`; Lanner never has a current stream.
struct Stream {
  void* handle = nullptr;
};

} // namespace lanner
