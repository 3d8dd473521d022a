#pragma once
// Agreement of TensorFlow's device names: `/job:worker/replica:0/task:1/device:GPU:0`.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lanner::tf {

/// Job, replica, task, type of device, its number, and the whole name where it is none of TensorFlow's: each
/// an interned text, -1 where it is left open.
using DevicePlace = std::array<int, 6>;

class DeviceNames {
public:
  /// Older forms (`/gpu:0`) are read too; parts that are missing or `*` are left open.
  DevicePlace place(std::string_view name);

private:
  int intern(std::string_view text);
  bool read_part(std::string_view part, DevicePlace& place);

  std::map<std::string, int, std::less<>> texts_;
};

/// What is said by both; nothing where they contradict each other.
std::optional<DevicePlace> merged(const DevicePlace& a, const DevicePlace& b);

} // namespace lanner::tf
