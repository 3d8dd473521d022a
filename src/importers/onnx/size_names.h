#pragma once
// Names of dims that a model leaves open.

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace lanner::onnx {

/// Whether a dim's text is a name that several dims may share. Converters write other texts for unknown
/// sizes: nothing at all, `?`, `-1`, `None`, and tf2onnx `unk__12`; each of these is a separate unknown.
bool names_a_size(std::string_view text);

/// Maps a model's dim names to symbols: a different symbol for each text, though symbols allow fewer
/// characters.
class SizeNames {
public:
  /// A name that Dim::symbol accepts; the same text gives the same name.
  const std::string& of(std::string_view text);

private:
  std::map<std::string, std::string> symbols_;
  std::set<std::string> taken_;
};

} // namespace lanner::onnx
