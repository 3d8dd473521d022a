#pragma once
// Protobuf messages by field tables. One table a message names its fields once; a reader of any encoding
// drives it.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>

namespace lanner {

struct FieldEntry;

/// A name that text gives to a number.
struct EnumName {
  const char* name;
  std::int64_t number;
};

/// The value of one field that is being read. A repeated scalar field calls its entry once an element.
class FieldValue {
public:
  virtual ~FieldValue() = default;
  virtual std::int64_t integer() = 0;
  virtual double real() = 0;
  virtual std::int64_t enumerator(std::span<const EnumName> names) = 0;
  /// A view into the source, or, of text with escapes, into memory that the reader holds until it returns.
  virtual std::string_view bytes() = 0;
  /// Reads a message into `object`, whose fields `table` lists.
  virtual void message(std::span<const FieldEntry> table, void* object) = 0;
};

/// How a field's value is encoded in binary.
enum class Wire : std::uint8_t { varint, fixed32, fixed64, bytes, message };

/// One field of a message: its number, its name in the schema, and what it sets.
struct FieldEntry {
  std::uint32_t number;
  const char* name;
  Wire wire;
  void (*read)(void* object, FieldValue& value);
};

/// `field<Node, [](Node& node, FieldValue& value) {...}>(1, "input", Wire::bytes)`
template<typename Message, auto set>
constexpr FieldEntry field(std::uint32_t number, const char* name, Wire wire) {
  return {number, name, wire,
          [](void* object, FieldValue& value) { set(*static_cast<Message*>(object), value); }};
}

/// A field that is known and says nothing that matters here.
constexpr FieldEntry ignored_field(const char* name) {
  return {0, name, Wire::message, nullptr};
}
/// At a table's end: text has no other fields than the table's, or, with `but`, none but those whose name
/// ends so and is not nearly one of the table's. Without this text may have any, which are skipped.
constexpr FieldEntry no_other_fields(const char* but = "") {
  return {0, but, Wire::varint, nullptr};
}

/// Reads binary protobuf. Unknown fields are skipped. Throws Error{bad_data, limit_exceeded} with the path of
/// the message
/// (`graph.node[12].attribute`) and the byte
/// where the field begins that could not be read.
void read_protobuf(std::span<const std::byte> bytes, std::span<const FieldEntry> table, void* object,
                   const Limits& limits);

/// Reads protobuf's text form likewise, fields by their names, in Error the line too.
void read_protobuf_text(std::span<const std::byte> bytes, std::span<const FieldEntry> table, void* object,
                        const Limits& limits);

/// The names of the fields that text begins with, at most `most`; none where it is no protobuf text.
std::vector<std::string> leading_fields(std::span<const std::byte> bytes, std::size_t most);

} // namespace lanner
