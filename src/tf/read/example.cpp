#include <lanner/tf_records.h>

#include "base/limits/account.h"
#include "importers/protobuf.h"

namespace lanner::tf {
namespace {

struct FeatureEntry {
  std::string name;
  FeatureValues values;
};

/// The list of this kind, to which further values are added.
template<typename T>
std::vector<T>& list_of(FeatureEntry& entry) {
  auto* list = std::get_if<std::vector<T>>(&entry.values);
  return list ? *list : entry.values.emplace<std::vector<T>>();
}

std::string text(FieldValue& value) {
  return std::string(value.bytes());
}

constexpr FieldEntry bytes_fields[] = {
    field<FeatureEntry, [](FeatureEntry& e, FieldValue& v) { list_of<std::string>(e).push_back(text(v)); }>(
        1, "value", Wire::bytes),
};
constexpr FieldEntry float_fields[] = {
    field<FeatureEntry,
          [](FeatureEntry& e, FieldValue& v) { list_of<float>(e).push_back(static_cast<float>(v.real())); }>(
        1, "value", Wire::fixed32),
};
constexpr FieldEntry integer_fields[] = {
    field<FeatureEntry,
          [](FeatureEntry& e, FieldValue& v) { list_of<std::int64_t>(e).push_back(v.integer()); }>(
        1, "value", Wire::varint),
};

template<typename T, auto& fields>
void read_list(FeatureEntry& entry, FieldValue& value) {
  list_of<T>(entry);
  value.message(fields, &entry);
}

constexpr FieldEntry feature_fields[] = {
    field<FeatureEntry, read_list<std::string, bytes_fields>>(1, "bytes_list", Wire::message),
    field<FeatureEntry, read_list<float, float_fields>>(2, "float_list", Wire::message),
    field<FeatureEntry, read_list<std::int64_t, integer_fields>>(3, "int64_list", Wire::message),
};
constexpr FieldEntry entry_fields[] = {
    field<FeatureEntry, [](FeatureEntry& e, FieldValue& v) { e.name = text(v); }>(1, "key", Wire::bytes),
    field<FeatureEntry, [](FeatureEntry& e, FieldValue& v) { v.message(feature_fields, &e); }>(2, "value",
                                                                                               Wire::message),
};
constexpr FieldEntry features_fields[] = {
    field<Example,
          [](Example& example, FieldValue& v) {
            FeatureEntry entry;
            v.message(entry_fields, &entry);
            example.insert_or_assign(std::move(entry.name), std::move(entry.values));
          }>(1, "feature", Wire::message),
};
constexpr FieldEntry example_fields[] = {
    field<Example, [](Example& example, FieldValue& v) { v.message(features_fields, &example); }>(
        1, "features", Wire::message),
};

} // namespace

Example read_example(std::span<const std::byte> record, const Limits& limits) {
  Meter meter; // what is read counts while it is read
  Example example;
  read_protobuf(record, example_fields, &example, limits);
  return example;
}

} // namespace lanner::tf
