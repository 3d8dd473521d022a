// Tasks as JSON.

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/text/decimal.h"
#include "base/text/json.h"
#include "tasks/declare/names.h"
#include "tasks/declare/task_check.h"
#include "tasks/declare/task_fields.h"

namespace lanner {
namespace {

using nlohmann::json;

constexpr double largest = 1e30;

std::string shown(const json& value) {
  return one_line(json_text(value), tasks::shown_text);
}

void require(bool good, const char* key, const char* expected, const json& got) {
  if (!good) fail(ErrorCode::bad_data, "task: {} is {}, expected {}", key, shown(got), expected);
}

void read(const char* key, const json& value, bool& into) {
  require(value.is_boolean(), key, "true or false", value);
  into = value.get<bool>();
}

void read(const char* key, const json& value, int& into) {
  require(value.is_number_integer() && std::abs(value.get<double>()) <= std::numeric_limits<int>::max(), key,
          "a whole number", value);
  into = value.get<int>();
}

void read(const char* key, const json& value, float& into) {
  require(value.is_number() && std::abs(value.get<double>()) < largest, key, "a number", value);
  into = value.get<float>();
}

void read(const char* key, const json& value, std::string& into) {
  require(value.is_string(), key, "a string", value);
  into = value.get<std::string>();
}

template<typename Enum>
void read_name(const char* key, const json& value, Enum& into, Enum (*parse)(std::string_view)) {
  require(value.is_string(), key, "a string", value);
  try {
    into = parse(value.get_ref<const std::string&>());
  } catch (const Error& error) {
    fail(ErrorCode::bad_data, "task: {}", error.message());
  }
}
void read(const char* key, const json& value, TaskKind& into) {
  read_name(key, value, into, parse_task_kind);
}
void read(const char* key, const json& value, Head& into) {
  read_name(key, value, into, parse_head);
}
void read(const char* key, const json& value, BoxForm& into) {
  read_name(key, value, into, parse_box_form);
}
void read(const char* key, const json& value, Activation& into) {
  read_name(key, value, into, parse_activation);
}

template<typename T>
void read(const char* key, const json& value, std::vector<T>& into);
template<typename T, std::size_t N>
void read(const char* key, const json& value, std::array<T, N>& into) {
  require(value.is_array() && value.size() == N, key, N == 2 ? "two numbers" : "an array", value);
  for (std::size_t i = 0; i < N; ++i) read(key, value[i], into[i]);
}

template<typename T>
void read(const char* key, const json& value, std::vector<T>& into) {
  require(value.is_array(), key, "an array", value);
  into.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) read(key, value[i], into[i]);
}

void read(const char* key, const json& value, std::map<std::string, std::string>& into) {
  require(value.is_object(), key, "an object of parts and names of outputs", value);
  for (const auto& [part, name] : value.items()) read(key, name, into[part]);
}

template<typename T>
void read(const char* key, const json& value, std::optional<T>& into) {
  read(key, value, into.emplace());
}

double written(float value) {
  return shortest_decimal(value);
}
template<typename T>
auto written(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(to_string(value));
  else
    return value;
}

template<typename T>
void write(nlohmann::ordered_json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = written(*value);
}
void write(nlohmann::ordered_json& object, const char* key,
           const std::optional<std::array<float, 2>>& value) {
  if (value) object[key] = {written((*value)[0]), written((*value)[1])};
}
template<typename T>
void write(nlohmann::ordered_json& object, const char* key, const std::vector<T>& values) {
  if (values.empty()) return;
  auto& array = object[key] = nlohmann::ordered_json::array();
  for (const T& value : values) array.push_back(written(value));
}
template<typename T>
void write(nlohmann::ordered_json& object, const char* key, const T& value) {
  if (!value.empty()) object[key] = value;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

} // namespace

std::string Task::to_json() const {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  tasks::for_each_field([&](const char* key, auto field) { write(object, key, this->*field); });
  return json_text(object);
}

Task Task::from_json(std::string_view text) {
  Task task;
  if (is_word(text)) {
    read("task", json(std::string(text)), task.kind);
    return task;
  }
  json object = parse_json(text);
  check(object.is_object(), ErrorCode::bad_data, "task: expected a JSON object or a word, got {}",
        shown(object));
  std::vector<std::string> known;
  tasks::for_each_field([&](const char* key, auto field) {
    known.emplace_back(key);
    const auto found = object.find(key);
    if (found == object.end()) return;
    read(key, *found, task.*field);
    object.erase(found);
  });
  if (!object.empty())
    fail(ErrorCode::bad_data, "task: unknown field '{}'{}", one_line(object.begin().key(), tasks::shown_text),
         did_you_mean(object.begin().key(), known));
  tasks::check_task(task, ErrorCode::bad_data);
  return task;
}

} // namespace lanner
