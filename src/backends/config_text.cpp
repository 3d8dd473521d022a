#include "backends/config_text.h"

#include <charconv>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

ConfigText::ConfigText(std::span<const std::byte> bytes) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    const std::string_view field = rest.substr(0, rest.find(';'));
    const std::size_t equals = field.find('=');
    check(equals != std::string_view::npos, ErrorCode::bad_data,
          "tactic: configuration field `{}` has no `=`", field);
    fields_.insert_or_assign(std::string(field.substr(0, equals)), std::string(field.substr(equals + 1)));
    rest.remove_prefix(std::min(rest.size(), field.size() + 1));
  }
}

ConfigText& ConfigText::set(std::string key, std::string value) {
  fields_.insert_or_assign(std::move(key), std::move(value));
  return *this;
}

ConfigText& ConfigText::set(std::string key, std::int64_t value) {
  return set(std::move(key), std::to_string(value));
}

const std::string& ConfigText::text(std::string_view key) const {
  const auto found = fields_.find(key);
  check(found != fields_.end(), ErrorCode::bad_data,
        "tactic: configuration has no `{}`: build the plan again", key);
  return found->second;
}

std::int64_t ConfigText::integer(std::string_view key) const {
  const std::string& value = text(key);
  std::int64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  check(error == std::errc() && end == value.data() + value.size(), ErrorCode::bad_data,
        "tactic: configuration `{}={}` is not an integer: build the plan again", key, value);
  return result;
}

std::int64_t ConfigText::integer(std::string_view key, std::int64_t fallback) const {
  return fields_.contains(key) ? integer(key) : fallback;
}

std::vector<std::byte> ConfigText::bytes() const {
  std::string joined;
  for (const auto& [key, value] : fields_) {
    if (!joined.empty()) joined += ';';
    joined.append(key).append("=").append(value);
  }
  const auto* first = reinterpret_cast<const std::byte*>(joined.data());
  return {first, first + joined.size()};
}

} // namespace lanner
