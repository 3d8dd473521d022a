#include "input/record_pictures.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/nearest.h>
#include <lanner/tf_records.h>

#include "check.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "options/path_patterns.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

/// Where a record begins.
struct Place {
  std::size_t file = 0;
  std::uint64_t offset = 0;
};

struct Found {
  std::vector<Place> places;
  std::vector<std::int64_t> labels;
};

bool is_record_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const SourcePtr source = open_path(path, given_limits());
  std::array<std::byte, 12> head{};
  return source->read_at(0, head) == head.size() && tf::looks_like_records(head);
}

template<typename T>
const T& only_value(const tf::Example& example, const std::string& key, const char* kind) {
  const auto found = example.find(key);
  if (found == example.end()) {
    std::vector<std::string> names;
    for (const auto& [name, values] : example) names.push_back(one_line(name));
    fail(ErrorCode::bad_data, "it has no feature '{}'{}; it has {}", key, did_you_mean(key, names),
         fmt::join(names.begin(),
                   names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 12)),
                   ", "));
  }
  const auto* values = std::get_if<std::vector<T>>(&found->second);
  check(values && values->size() == 1, ErrorCode::bad_data, "feature '{}' is not one {}", key, kind);
  return values->front();
}

const std::string& image_of(const tf::Example& example, const RecordKeys& keys) {
  return only_value<std::string>(example, keys.image, "string of bytes; --image-key names another feature");
}

std::int64_t label_of(const tf::Example& example, const RecordKeys& keys) {
  return only_value<std::int64_t>(example, keys.label, "integer; --label-key names another feature");
}

void scan_file(const std::vector<std::string>& files, std::size_t file, const RecordKeys& keys,
               Found& found) {
  tf::RecordReader reader(open_path(files[file], given_limits()), given_limits());
  for (std::uint64_t at = 0;; at = reader.offset()) {
    interrupt_token().check();
    const auto record = reader.next();
    if (!record) return;
    with_context([&] { return fmt::format("{}: record {}", files[file], reader.count() - 1); },
                 [&] {
                   const tf::Example example = tf::read_example(*record, given_limits());
                   image_of(example, keys);
                   found.labels.push_back(label_of(example, keys));
                 });
    found.places.push_back({file, at});
  }
}

Found scan(const std::vector<std::string>& files, const RecordKeys& keys) {
  Found found;
  ProgressBar bar("read");
  for (std::size_t file = 0; file < files.size(); ++file) {
    scan_file(files, file, keys, found);
    bar.update(static_cast<double>(file + 1), static_cast<double>(files.size()), "files");
  }
  return found;
}

/// ImageNet's labels begin with 1, and networks with a background class count from there.
int first_label(const RecordKeys& keys, const std::vector<std::int64_t>& labels) {
  if (keys.first_label) return *keys.first_label;
  const auto [low, high] = std::ranges::minmax(labels);
  return keys.classes > 0 && high == keys.classes && low >= 1 ? 1 : 0;
}

Content content_of(const std::vector<std::string>& files, const Place& place, const RecordKeys& keys) {
  tf::RecordReader reader(open_path(files[place.file], given_limits()), given_limits(), place.offset);
  const auto record = reader.next();
  check(record.has_value(), ErrorCode::io, "{}: is shorter than it was before", files[place.file]);
  auto bytes = std::make_shared<const std::string>(image_of(tf::read_example(*record, given_limits()), keys));
  return {std::as_bytes(std::span(*bytes)), bytes};
}

} // namespace

std::vector<std::string> record_files(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) return {path};
  std::vector<std::string> files;
  if (std::filesystem::is_directory(status))
    files = files_in(path);
  else if (is_pattern(path))
    files = files_matching(path);
  std::erase_if(files, [](const std::string& file) { return !is_record_file(file); });
  return files;
}

ClassPictures read_record_pictures(const std::vector<std::string>& files, const RecordKeys& keys) {
  Found found = scan(files, keys);
  check(!found.labels.empty(), ErrorCode::bad_data, "{}: has no records", files[0]);
  const int first = first_label(keys, found.labels);
  ClassPictures pictures;
  for (std::size_t i = 0; i < found.labels.size(); ++i) {
    const std::int64_t label = found.labels[i] - first;
    pictures.names.push_back(
        fmt::format("{} at byte {}", files[found.places[i].file], found.places[i].offset));
    check(label >= 0 && (keys.classes == 0 || label < keys.classes), ErrorCode::bad_data,
          "{}: label {}, and the network has {} classes; --first-label says which label its first class has",
          pictures.names.back(), found.labels[i], keys.classes);
    pictures.classes.push_back(label);
  }
  pictures.files = files;
  pictures.notes.push_back(fmt::format("{}{}: {} pictures in {} TFRecord {}, whose first class has label {}",
                                       files[0], files.size() > 1 ? " and others" : "", found.labels.size(),
                                       files.size(), files.size() == 1 ? "file" : "files", first));
  pictures.read = [files, places = std::move(found.places), keys](std::size_t i) {
    return content_of(files, places[i], keys);
  };
  return pictures;
}

} // namespace lanner::tool
