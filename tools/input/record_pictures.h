#pragma once
// Pictures of classes in TFRecord files of tf.Example messages.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lanner/evaluation.h>

namespace lanner::tool {

/// The files of data in TFRecord: the file itself, those of a folder or a pattern that are TFRecord files, in
/// natural order. Empty where there are none. Throws Error{not_found, io}.
std::vector<std::string> record_files(const std::string& path);

struct RecordKeys {
  std::string image, label;       ///< Names of the features.
  std::int64_t classes = 0;       ///< Of the network; 0: unknown.
  std::optional<int> first_label; ///< The label of the network's first class; unset: found from the labels.
};

/// Reads all records once, for their labels. Throws Error{bad_data} that names file, record and feature.
ClassPictures read_record_pictures(const std::vector<std::string>& files, const RecordKeys& keys);

} // namespace lanner::tool
