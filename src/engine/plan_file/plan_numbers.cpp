#include "engine/plan_file/plan_numbers.h"

#include <limits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/json.h"

namespace lanner {

std::int64_t plan_integer(const nlohmann::json& json, std::int64_t least, std::int64_t most) {
  const auto fits = [&] {
    if (json.is_number_unsigned()) {
      const auto number = json.get<std::uint64_t>();
      return std::in_range<std::int64_t>(number) && static_cast<std::int64_t>(number) >= least &&
             static_cast<std::int64_t>(number) <= most;
    }
    return json.is_number_integer() && json.get<std::int64_t>() >= least && json.get<std::int64_t>() <= most;
  };
  check(fits(), ErrorCode::bad_data, "a table of the plan says {}, expected a whole number from {} to {}",
        json_text(json).substr(0, 40), least, most);
  return json.get<std::int64_t>();
}

Shape plan_shape(const nlohmann::json& json, std::uint32_t most_dims) {
  check(json.is_array() && json.size() <= most_dims, ErrorCode::bad_data,
        "a table of the plan says {}, expected a shape of at most {} dims", json_text(json).substr(0, 40),
        most_dims);
  std::vector<std::int64_t> sizes;
  for (const nlohmann::json& size : json)
    sizes.push_back(plan_integer(size, 0, std::numeric_limits<std::int64_t>::max()));
  return Shape(std::move(sizes));
}

} // namespace lanner
