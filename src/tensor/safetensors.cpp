#include "tensor/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/text/json.h"
#include "tensor/safetensors_types.h"

namespace lanner {
namespace {

constexpr std::uint64_t prefix_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000; // The limit of the format's own library.
constexpr std::uint32_t header_depth = 4;

struct TypeName {
  DType type;
  std::string_view name;
};
constexpr TypeName type_names[] = {
    {DType::boolean, "BOOL"},   {DType::u8, "U8"},          {DType::i8, "I8"},
    {DType::u16, "U16"},        {DType::i16, "I16"},        {DType::u32, "U32"},
    {DType::i32, "I32"},        {DType::u64, "U64"},        {DType::i64, "I64"},
    {DType::f16, "F16"},        {DType::bf16, "BF16"},      {DType::f32, "F32"},
    {DType::f64, "F64"},        {DType::c64, "C64"},        {DType::f8e4m3fn, "F8_E4M3"},
    {DType::f8e5m2, "F8_E5M2"}, {DType::f8e8m0, "F8_E8M0"}, {DType::f4e2m1, "F4"},
};

std::uint64_t read_length(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  for (std::uint64_t i = 0; i < prefix_bytes; ++i)
    length |= std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(i)]) << (8 * i);
  return length;
}

std::string_view header_text(std::span<const std::byte> file) {
  check(file.size() > prefix_bytes, ErrorCode::bad_data, "{} bytes are too few for a safetensors file",
        file.size());
  const std::uint64_t length = read_length(file);
  check(length <= longest_header, ErrorCode::limit_exceeded, "a header of {} bytes; at most {} are read",
        length, longest_header);
  check(length <= file.size() - prefix_bytes, ErrorCode::bad_data,
        "a header of {} bytes in a file of {}; it is truncated or not a safetensors file", length,
        file.size());
  const char* text = reinterpret_cast<const char*>(file.data()) + prefix_bytes;
  check(length > 0 && text[0] == '{', ErrorCode::bad_data, "byte 8 is not the \"{{\" that starts a header");
  return {text, static_cast<std::size_t>(length)};
}

const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  check(object.is_object() && object.contains(name), ErrorCode::bad_data, "there is no \"{}\"", name);
  return object[name];
}

std::uint64_t whole_number(const nlohmann::json& value, std::string_view what) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  check(value.is_number_unsigned() && value.get<std::uint64_t>() <= most, ErrorCode::bad_data,
        "a {} is not a whole number from 0 to 2^63-1", what);
  return value.get<std::uint64_t>();
}

Shape read_shape(const nlohmann::json& value, const Limits& limits) {
  check(value.is_array(), ErrorCode::bad_data, "its shape is not an array");
  check_limit("rank", value.size(), limits.rank, "rank {}", value.size());
  Shape shape;
  for (const nlohmann::json& size : value)
    shape.push_back(static_cast<std::int64_t>(whole_number(size, "size")));
  return shape;
}

SafetensorsEntry read_entry(const std::string& name, const nlohmann::json& value, const Limits& limits) {
  SafetensorsEntry entry;
  entry.name = name;
  const nlohmann::json& type = member(value, "dtype");
  check(type.is_string(), ErrorCode::bad_data, "its dtype is not a string");
  const auto known = safetensors_type(type.get_ref<const std::string&>());
  check(known.has_value(), ErrorCode::unsupported, "dtype \"{}\" is not known",
        type.get_ref<const std::string&>().substr(0, 32));
  entry.dtype = *known;
  entry.shape = read_shape(member(value, "shape"), limits);
  const nlohmann::json& offsets = member(value, "data_offsets");
  check(offsets.is_array() && offsets.size() == 2, ErrorCode::bad_data,
        "its data_offsets are not two numbers");
  entry.begin = whole_number(offsets[0], "data offset");
  entry.end = whole_number(offsets[1], "data offset");
  const std::uint64_t bytes = Layout{}.bytes(entry.shape, entry.dtype);
  check(entry.begin <= entry.end && entry.end - entry.begin == bytes, ErrorCode::bad_data,
        "data_offsets [{}, {}] do not match the {} bytes of {} {}", entry.begin, entry.end, bytes,
        to_string(entry.dtype), entry.shape.to_string());
  check_limit("tensor_bytes", bytes, limits.tensor_bytes, "{} bytes", bytes);
  return entry;
}

SafetensorsMetadata read_metadata(const nlohmann::json& value) {
  check(value.is_object(), ErrorCode::bad_data, "__metadata__ is not an object");
  SafetensorsMetadata metadata;
  for (const auto& [key, text] : value.items()) {
    check(text.is_string(), ErrorCode::bad_data, "__metadata__: \"{}\" is not a string", key.substr(0, 80));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

// The format requires every byte after the header to belong to exactly one tensor.
void require_whole_cover(std::vector<SafetensorsEntry>& entries, std::uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    check(entry.begin == covered, ErrorCode::bad_data,
          "tensor \"{}\" starts at data byte {}, expected {}: tensors overlap or leave a gap",
          entry.name.substr(0, 80), entry.begin, covered);
    covered = entry.end;
  }
  check(covered == data_bytes, ErrorCode::bad_data, "tensors take {} bytes but {} follow the header", covered,
        data_bytes);
}

void require_bools(std::span<const std::byte> bytes, std::string_view name) {
  const bool good = std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
  check(good, ErrorCode::bad_data, "tensor \"{}\": a BOOL is neither 0 nor 1", name);
}

} // namespace

std::string_view safetensors_name(DType type) noexcept {
  for (const TypeName& known : type_names)
    if (known.type == type) return known.name;
  return {};
}

std::optional<DType> safetensors_type(std::string_view name) noexcept {
  for (const TypeName& known : type_names)
    if (known.name == name) return known.type;
  return std::nullopt;
}

bool is_safetensors_pad(std::string_view name) noexcept {
  if (!name.starts_with(safetensors_pad_prefix)) return false;
  name.remove_prefix(safetensors_pad_prefix.size());
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Safetensors Safetensors::open(const SourcePtr& source, const Limits& limits) {
  Content content = with_context([&] { return source->name(); }, [&] { return read_all(source, limits); });
  return open(std::move(content), source->name(), limits);
}

Safetensors Safetensors::open(Content content, std::string name, const Limits& limits) {
  return with_context([&] { return name; },
                      [&] {
                        Safetensors file;
                        file.name_ = name;
                        file.content_ = std::move(content);
                        const std::string_view text = header_text(file.content_.bytes);
                        file.data_begin_ = prefix_bytes + text.size();
                        Limits header_limits = limits;
                        header_limits.depth = header_depth;
                        const nlohmann::json header = parse_json(text, header_limits);
                        check_limit("nodes", header.size(), limits.nodes, "{} tensors", header.size());
                        for (const auto& item : header.items()) {
                          if (item.key() == safetensors_metadata_key)
                            file.metadata_ = read_metadata(item.value());
                          else
                            file.entries_.push_back(with_context(
                                [&] { return fmt::format("tensor \"{}\"", item.key().substr(0, 80)); },
                                [&] { return read_entry(item.key(), item.value(), limits); }));
                        }
                        require_whole_cover(file.entries_, file.content_.bytes.size() - file.data_begin_);
                        std::erase_if(file.entries_, [&](const SafetensorsEntry& entry) {
                          if (!is_safetensors_pad(entry.name)) return false;
                          file.pads_.push_back(entry);
                          return true;
                        });
                        for (std::size_t i = 0; i < file.entries_.size(); ++i)
                          file.by_name_[file.entries_[i].name] = i;
                        return file;
                      });
}

const SafetensorsEntry* Safetensors::find(std::string_view name) const noexcept {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

std::span<const std::byte> Safetensors::bytes(const SafetensorsEntry& entry) const {
  return content_.bytes.subspan(static_cast<std::size_t>(data_begin_ + entry.begin),
                                static_cast<std::size_t>(entry.end - entry.begin));
}

Tensor Safetensors::tensor(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  check(entry != nullptr, ErrorCode::not_found, "{}: there is no tensor \"{}\"", name_, name);
  const std::span<const std::byte> content = bytes(*entry);
  if (entry->dtype == DType::boolean)
    with_context([&] { return name_; }, [&] { require_bools(content, name); });
  const std::size_t alignment = std::clamp<std::size_t>(bit_width(entry->dtype) / 8, 1, alignof(double));
  if (reinterpret_cast<std::uintptr_t>(content.data()) % alignment == 0)
    return Tensor::wrap(const_cast<std::byte*>(content.data()), entry->dtype, entry->shape, content_.owner);
  Tensor copy = Tensor::allocate(entry->dtype, entry->shape);
  if (!content.empty()) std::memcpy(copy.data(), content.data(), content.size());
  return copy;
}

} // namespace lanner
