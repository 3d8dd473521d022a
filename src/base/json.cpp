#include "base/json.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <lanner/error.h>

#include "base/account.h"
#include "base/check.h"
#include "base/limit_error.h"

namespace lanner {
namespace {

/// Bounds what a parse may build, and finds names that come twice.
class Guard {
public:
  explicit Guard(const Limits& limits) : limits_(limits) {}

  bool operator()(int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (static_cast<std::uint32_t>(depth) >= limits_.depth)
        fail_limit("depth", limits_.depth, "json: nested deeper than {}", limits_.depth);
      names_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      names_.pop_back();
    } else if (event == Event::key) {
      const auto& name = value.get_ref<const std::string&>();
      check(names_.back().insert(name).second, ErrorCode::bad_data, "json: the name \"{}\" comes twice",
            name.substr(0, 80));
    }
    constexpr std::uint64_t value_bytes = 64; // one in its array, object and, where it is a text, block of memory
    constexpr std::uint64_t events_of_a_look = 1024;
    count_bytes(value_bytes + (value.is_string() ? value.get_ref<const std::string&>().size() : 0));
    if (events_ % events_of_a_look == 0) check_deadline();
    constexpr std::uint64_t values_per_node = 16;
    if (++events_ > values_per_node * limits_.nodes)
      fail_limit("nodes", limits_.nodes, "json: more than {} values", values_per_node * limits_.nodes);
    return true;
  }

private:
  const Limits& limits_;
  std::vector<std::set<std::string>> names_;
  std::uint64_t events_ = 0;
};

template<typename Json>
std::string readable(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

template<typename Json>
std::string exact(const Json& json) {
  try {
    return json.dump();
  } catch (const typename Json::exception&) {
    fail(ErrorCode::bad_data, "json: a name or a text is not UTF-8");
  }
}

} // namespace

nlohmann::json parse_json(std::string_view text, const Limits& limits) {
  auto guard = std::make_shared<Guard>(limits);
  try {
    return nlohmann::json::parse(text.begin(), text.end(),
                                 [guard](int depth, nlohmann::json::parse_event_t event,
                                         nlohmann::json& value) { return (*guard)(depth, event, value); });
  } catch (const nlohmann::json::parse_error& error) {
    fail(ErrorCode::bad_data, "json: not well formed at byte {} of {}", error.byte, text.size());
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::bad_data, "json: a number or text is out of range");
  }
}

nlohmann::ordered_json parse_own_json(std::string_view text) {
  return nlohmann::ordered_json::parse(text);
}

void append(nlohmann::ordered_json& object, std::string name, nlohmann::ordered_json value) {
  object.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(std::move(name), std::move(value));
}

std::string json_text(const nlohmann::json& json, int indent) {
  return readable(json, indent);
}
std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return readable(json, indent);
}
std::string exact_json_text(const nlohmann::json& json) {
  return exact(json);
}
std::string exact_json_text(const nlohmann::ordered_json& json) {
  return exact(json);
}

} // namespace lanner
