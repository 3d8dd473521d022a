#pragma once
// Shared by tests of the tables of options.

#include <string>

#include <lanner/option_table.h>
#include <lanner/tensorflow.h>

namespace lanner::test {

/// Calls `use(title, table)` for each table.
template<typename Use>
void for_each_table(Use use) {
  use("build", build_option_table());
  use("load", load_option_table());
  use("verify", verify_option_table());
  use("context", context_option_table());
  use("reader", reader_option_table());
  use("writer", writer_option_table());
  use("transcode", transcode_option_table());
  use("encoder", encoder_option_table());
  use("audio_reader", audio_reader_option_table());
  use("audio_encoder", audio_encoder_option_table());
  use("convert", tf::convert_option_table());
  use("preprocess", preprocess_option_table());
}

/// Whether values of this kind have a text and need no file.
inline bool has_text(const OptionInfo& info) {
  switch (info.kind) {
  case OptionKind::preset: // It sets other options.
  case OptionKind::preprocess:
  case OptionKind::named_preprocess:
  case OptionKind::named_images:
  case OptionKind::source:
  case OptionKind::environment:
  case OptionKind::index:
  case OptionKind::handle:
  case OptionKind::control:
    return false;
  default:
    return true;
  }
}

/// The row's example; for flags and numbers without one a non-default value.
inline std::string sample_of(const OptionInfo& info) {
  return info.example.empty() ? "3" : std::string(info.example);
}

} // namespace lanner::test
