#pragma once
// Names of sizes that a model leaves open.

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace lanner::onnx {

/// Whether a dim's text is a name that may stand in several places. Converters write others where they know
/// nothing of a size: nothing at all, `?`, `-1`, `None`, and tf2onnx `unk__12`; each of these is a size of
/// its own.
bool names_a_size(std::string_view text);

/// Symbols that stand for the names of a model's sizes: another one for each text, where symbols may hold
/// fewer letters.
class SizeNames {
public:
  /// A name that Dim::symbol accepts, the same for the same text.
  const std::string& of(std::string_view text);

private:
  std::map<std::string, std::string> symbols_;
  std::set<std::string> taken_;
};

} // namespace lanner::onnx
