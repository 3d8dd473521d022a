#include "base/text/json.h"

#include <string>
#include <utility>
#include <vector>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/limits/paced_deadline.h"

namespace lanner {
namespace {

/// Builds values as they are read, bounds their memory, and rejects duplicate names. The library's own
/// builder with a callback visits all members of an object for each one that ends.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
  Builder(const Limits& limits, std::size_t bytes) : limits_(limits), bytes_(bytes) {}
  nlohmann::json made;

  bool null() override { return put({}); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override {
    count(value.size());
    place(std::move(value));
    return true;
  }
  bool binary(binary_t&) override { return false; } // not in JSON's text
  bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    count(name.size());
    const auto [member, fresh] = open_.back()->get_ref<nlohmann::json::object_t&>().try_emplace(name);
    check(fresh, ErrorCode::bad_data, "json: the name \"{}\" appears twice", name.substr(0, 80));
    member_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    const auto* known = dynamic_cast<const nlohmann::json::parse_error*>(&error);
    if (!known) fail(ErrorCode::bad_data, "json: a number or text is out of range");
    fail(ErrorCode::bad_data, "json: not well formed at byte {} of {}", known->byte, bytes_);
  }

private:
  void count(std::size_t characters) {
    constexpr std::uint64_t value_bytes = 64; // a value and, for many kinds, its block of memory
    constexpr std::uint64_t values_per_node = 16;
    if (++events_ > values_per_node * limits_.nodes)
      fail_limit("nodes", limits_.nodes, "json: more than {} values", values_per_node * limits_.nodes);
    count_bytes(value_bytes + characters);
    look_();
  }

  nlohmann::json* place(nlohmann::json value) {
    if (open_.empty()) return &(made = std::move(value));
    nlohmann::json& around = *open_.back();
    if (around.is_array()) return &around.get_ref<nlohmann::json::array_t&>().emplace_back(std::move(value));
    return &(*member_ = std::move(value));
  }

  bool put(nlohmann::json value) {
    count(0);
    place(std::move(value));
    return true;
  }

  bool open(nlohmann::json value) {
    if (open_.size() >= limits_.depth)
      fail_limit("depth", limits_.depth, "json: nested deeper than {}", limits_.depth);
    count(0);
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const Limits& limits_;
  const std::size_t bytes_;           ///< Length of the text.
  std::vector<nlohmann::json*> open_; ///< Arrays and objects that are open, outermost first.
  nlohmann::json* member_ = nullptr;  ///< The object's member whose value comes next.
  std::uint64_t events_ = 0;
  PacedDeadline look_;
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
  Builder builder(limits, text.size());
  try {
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::bad_data, "json: a number or text is out of range");
  }
  return std::move(builder.made);
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
