#pragma once
// Plans with one part changed and a valid digest.

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "tensor/safetensors.h"

namespace lanner::test {

/// The parts of a plan, to change one and write it with a valid digest.
struct Parts {
  explicit Parts(const std::filesystem::path& path)
      : file(Safetensors::open(open_path(path))), metadata(file.metadata()) {
    for (const SafetensorsEntry& entry : file.entries()) {
      const auto bytes = file.bytes(entry);
      content[entry.name] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }

  void write(const std::filesystem::path& path) {
    std::vector<SafetensorsItem> items;
    for (const SafetensorsEntry& entry : file.entries()) {
      const std::string& bytes = content.at(entry.name);
      const bool text =
          entry.name == "ir" || entry.name.starts_with("lowered") || entry.name.starts_with("reports");
      items.push_back({entry.name, entry.dtype,
                       text ? Shape{static_cast<std::int64_t>(bytes.size())} : entry.shape,
                       std::as_bytes(std::span(bytes))});
    }
    Hasher hasher;
    for (const auto& [key, value] : metadata)
      if (key != "lanner.digest") hasher.update(key + "=" + value + ";");
    for (const SafetensorsItem& item : items) {
      hasher.update(item.name + ":" + std::string(to_string(item.dtype)) + item.shape.to_string() + ";");
      hasher.update(item.bytes);
    }
    metadata["lanner.digest"] = hasher.hex();
    write_safetensors(path, items, metadata);
  }

  /// Writes operators by another name: the plan as it was written before a renaming.
  void rename_operator(const std::string& from, const std::string& to) {
    std::size_t renamed = 0;
    for (auto& [name, text] : content) {
      if (name != "ir" && !name.starts_with("lowered")) continue;
      const std::string now = "= " + from + "(", before = "= " + to + "(";
      for (std::size_t at = 0; (at = text.find(now, at)) != std::string::npos; ++renamed)
        text.replace(at, now.size(), before);
    }
    EXPECT_GT(renamed, 0u) << from;
  }

  Safetensors file;
  SafetensorsMetadata metadata;
  std::map<std::string, std::string> content;
};

} // namespace lanner::test
