#include "graph/target.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

std::vector<Device> Target::devices() const {
  std::vector<Device> all{device};
  all.insert(all.end(), placement.devices.begin(), placement.devices.end());
  return all;
}

Target Target::on(Device other) const {
  Target same = *this;
  if (other == device) return same;
  same.device = other;
  if (other.is_host()) {
    same.isa = host_isa;
    same.limits = host_limits;
    same.precision = {};
    same.placement = {};
    same.further.clear();
    return same;
  }
  const auto found = std::ranges::find(placement.devices, other);
  check(found != placement.devices.end(), ErrorCode::bad_data, "{} is not one of the devices {}",
        other.to_string(), devices_text(devices()));
  const auto number = static_cast<std::size_t>(found - placement.devices.begin());
  const Processor processor = number < further.size() ? further[number] : Processor{};
  same.isa = processor.isa;
  same.limits = processor.limits;
  return same;
}

} // namespace lanner
