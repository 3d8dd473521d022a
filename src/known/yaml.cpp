#include "known/yaml.h"

#include <charconv>
#include <string>

#include <yaml.h>

#include "base/check.h"
#include "base/text/one_line.h"

namespace lanner::known {
namespace {

using nlohmann::json;

constexpr int most_levels = 64;
constexpr int most_values = 65536;

/// libyaml's events, one at a time.
class Events {
public:
  explicit Events(std::string_view text) {
    check(yaml_parser_initialize(&parser_) == 1, ErrorCode::out_of_memory, "yaml: no memory");
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Events() {
    if (held_) yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  const yaml_event_t& next() {
    if (held_) yaml_event_delete(&event_);
    held_ = false;
    check(yaml_parser_parse(&parser_, &event_) == 1, ErrorCode::bad_data, "yaml: line {}: {}",
          parser_.problem_mark.line + 1, parser_.problem ? parser_.problem : "it cannot be read");
    held_ = true;
    return event_;
  }

private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  bool held_ = false;
};

json plain(const std::string& text) {
  if (text.empty() || text == "null" || text == "~" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const char *first = text.data(), *last = first + text.size();
  std::int64_t whole = 0;
  if (const auto [end, error] = std::from_chars(first, last, whole); error == std::errc() && end == last)
    return whole;
  double number = 0;
  const bool numeric = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (const auto [end, error] = std::from_chars(first, last, number);
      numeric && error == std::errc() && end == last)
    return number;
  return text;
}

class Reader {
public:
  explicit Reader(std::string_view text) : events_(text) {}

  json document() {
    while (true) {
      const yaml_event_t& event = events_.next();
      if (event.type == YAML_STREAM_END_EVENT) return {};
      if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_START_EVENT) continue;
      return value(event, 0);
    }
  }

private:
  static std::string text_of(const yaml_event_t& event) {
    return {reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length};
  }

  json value(const yaml_event_t& event, int level) {
    check(level < most_levels && ++values_ <= most_values, ErrorCode::bad_data,
          "yaml: more than {} levels or {} values", most_levels, most_values);
    switch (event.type) {
    case YAML_SCALAR_EVENT:
      return event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? plain(text_of(event))
                                                                : json(text_of(event));
    case YAML_SEQUENCE_START_EVENT: {
      json list = json::array();
      for (const yaml_event_t* next = &events_.next(); next->type != YAML_SEQUENCE_END_EVENT;
           next = &events_.next())
        list.push_back(value(*next, level + 1));
      return list;
    }
    case YAML_MAPPING_START_EVENT: {
      json object = json::object();
      for (const yaml_event_t* next = &events_.next(); next->type != YAML_MAPPING_END_EVENT;
           next = &events_.next()) {
        check(next->type == YAML_SCALAR_EVENT, ErrorCode::bad_data, "yaml: a key is not a scalar");
        const std::string key = text_of(*next);
        object[key] = value(events_.next(), level + 1);
      }
      return object;
    }
    default:
      fail(ErrorCode::bad_data, "yaml: found an alias or an end, expected a value");
    }
  }

  Events events_;
  int values_ = 0;
};

} // namespace

json parse_yaml(std::string_view text) {
  return Reader(text).document();
}

} // namespace lanner::known
