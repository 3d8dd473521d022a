#include "input/json_parser.h"

#include <utility>
#include <vector>

namespace lanner::tool {
namespace {

/// Builds values as the library's own parser does, but appends a member to its object without searching the
/// others for its name: objects may have as many members as a model has inputs.
class Builder : public nlohmann::json_sax<Json> {
public:
  explicit Builder(const std::function<void(std::size_t depth)>& look) : look_(look) {}
  Json made;

  bool null() override { return put({}); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(std::move(value)); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    if (look_) look_(open_.size());
    open_.back()->get_ref<Json::object_t&>().emplace_back(std::move(value), Json());
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    if (const auto* known = dynamic_cast<const Json::parse_error*>(&error)) throw *known;
    throw error;
  }

private:
  Json* place(Json value) {
    if (look_) look_(open_.size());
    if (open_.empty()) return &(made = std::move(value));
    Json& around = *open_.back();
    if (around.is_array()) return &around.get_ref<Json::array_t&>().emplace_back(std::move(value));
    return &(around.get_ref<Json::object_t&>().back().second = std::move(value));
  }
  bool put(Json value) { return place(std::move(value)) != nullptr; }
  bool open(Json value) {
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    if (look_) look_(open_.size());
    return true;
  }

  const std::function<void(std::size_t depth)>& look_;
  std::vector<Json*> open_; ///< Arrays and objects around the current value, outermost first.
};

} // namespace

Json parse_json(std::string_view text, const std::function<void(std::size_t depth)>& look) {
  Builder builder(look);
  Json::sax_parse(text, &builder);
  return std::move(builder.made);
}

} // namespace lanner::tool
