#pragma once
// What builds, loads, contexts, video readers, video writers and preprocessing can be told: a table for each,
// with a row for each option. The command line, the Python package, the C interface and docs/options.md take
// names, help, defaults and values from these rows, so that an option is added by adding a row. See
// docs/decisions/043-option-tables.md.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <lanner/c_options.h>
#include <lanner/encoder.h>
#include <lanner/engine.h>
#include <lanner/video_reader.h>

namespace lanner {

/// Texts by name, in the order in which they were given.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;
using NamedShapes = std::map<std::string, ShapeRange>;

/// A file or bytes beside the model.
struct OptionSource {
  SourcePtr source;
  std::filesystem::path folder; ///< Of a file; empty of bytes.
};

/// What values an option takes, and so how each interface reads, shows and documents them.
enum class OptionKind : std::uint8_t {
  flag,             ///< bool.
  integer,          ///< std::int32_t.
  bit_rate,         ///< std::int64_t, bits a second.
  bytes,            ///< std::uint64_t, bytes of memory.
  seed,             ///< std::uint64_t.
  number,           ///< double.
  seconds,          ///< double.
  text,             ///< std::string.
  words,            ///< std::string of one word or several, separated by commas.
  path,             ///< std::string.
  texts,            ///< std::vector<std::string>.
  named_texts,      ///< NamedTexts.
  named_shapes,     ///< NamedShapes, by input name.
  profiles,         ///< std::vector<NamedShapes>.
  size,             ///< std::array<std::int32_t, 2>: width and height in pixels.
  region,           ///< PixelRect.
  two_numbers,      ///< std::array<float, 2>.
  three_numbers,    ///< std::array<float, 3>; one number is all three.
  dtype,            ///< std::string: name of an element type.
  preset,           ///< std::string, which other options change: it counts before them.
  preprocess,       ///< Preprocess.
  named_preprocess, ///< std::map<std::string, Preprocess>, by input name.
  named_images,   ///< std::map<std::string, ImageInputOptions>, by input name.
  source,           ///< OptionSource.
  limits,           ///< Limits.
  environment,      ///< Environment.
  index,            ///< std::shared_ptr<const StreamIndex>.
  handle,           ///< void*: of CUDA's driver.
  control,          ///< Control: how far the call is, and a way to end it.
};

/// A value of one of these kinds. The first alternative: none is given, or the option has none.
using OptionValue =
    std::variant<std::monostate, bool, std::int32_t, std::int64_t, std::uint64_t, double, std::string,
                 std::vector<std::string>, NamedTexts, NamedShapes, std::vector<NamedShapes>,
                 std::array<std::int32_t, 2>, PixelRect, std::array<float, 2>, std::array<float, 3>,
                 Preprocess, std::map<std::string, Preprocess>, std::map<std::string, ImageInputOptions>,
                 OptionSource, Limits, Environment, std::shared_ptr<const StreamIndex>, void*, Control>;

/// Which subcommands of `lanner` have an option: those that ask for this use.
enum class OptionUse : std::uint8_t {
  always,
  profiles,   ///< Those whose plan may serve several ranges of shapes.
  callers,    ///< Those that make plans for callers who keep values from run to run, or hold them their way.
  new_shapes, ///< Those that meet shapes as they run.
  plans,      ///< Those that take plans as they are.
  build,      ///< `lanner build` alone.
};

/// What is said of an option. Texts are static, in English and in lower case where they begin a sentence.
struct OptionInfo {
  /// Python's keyword.
  std::string_view name;
  /// A clause that says what it does: `threads of each context`. Each interface adds how values are written,
  /// the example and the default.
  std::string_view help;
  std::string_view details = {}; ///< Further clauses, separated by `; `.
  /// A value as the command line has it: shown by help, docstrings and errors, and set by tests.
  std::string_view example = {};
  /// What the command line and Python take where nothing is given, if that is not the member's own default.
  std::string_view standard = {};
  std::string_view unset = {}; ///< What the member's default stands for, where it is not meant literally.
  std::string_view flag = {};  ///< `--pin`.
  std::string_view short_flag = {};           ///< `-c`.
  std::string_view metavar = {};              ///< What follows the flag: `NODE=TYPE`; empty: by its kind.
  std::vector<std::string_view> choices = {}; ///< Words that it takes, where they are few.
  bool other_words = false;                   ///< Others than these choices are taken too.
  OptionUse use = OptionUse::always;
  /// Bounds of whole numbers on the command line.
  std::int64_t least = 0, most = std::numeric_limits<std::int32_t>::max();
  bool flag_value = true;          ///< What the flag of a `flag` sets.
  std::string_view flag_help = {}; ///< In place of the texts above for a flag that sets false.
  bool last_equals = false; ///< `named_texts`: names may hold `=`, texts do not; else the other way round.
  bool empty_texts = false; ///< `named_texts`: a text may be empty.
  bool comma_separated = false; ///< `texts`: on the command line several in one value.
  bool second_network = false;  ///< What is said of one network of `lanner run` is for the second one too.
  bool required = false;        ///< In Python.
  /// Why an interface does not have it; empty where it does.
  std::string_view no_flag = {}, no_keyword = {}, no_field = {};
  OptionKind kind = OptionKind::flag; ///< Set by the table.
};

/// The structure of <lanner/c.h> that says the same as `Options`.
template<typename Options>
struct OptionsInC {
  using type = std::monostate; ///< There is none.
};
template<>
struct OptionsInC<BuildOptions> {
  using type = lanner_build_options;
};
template<>
struct OptionsInC<LoadOptions> {
  using type = lanner_load_options;
};
template<>
struct OptionsInC<VerifyOptions> {
  using type = lanner_verify_options;
};
template<>
struct OptionsInC<ContextOptions> {
  using type = lanner_context_options;
};
template<>
struct OptionsInC<VideoReaderOptions> {
  using type = lanner_video_options;
};

/// A member of such a structure.
template<typename Structure>
struct OptionField {
  std::string_view name; ///< Empty: there is none.
  /// Nothing for a member of zero. Throws Error{invalid_argument} for null pointers where texts or arrays
  /// have to be.
  std::function<OptionValue(const Structure&)> read;
};

/// One option.
template<typename Options>
struct OptionRow {
  OptionInfo info;
  /// Sets it, lists are added to. Throws Error{invalid_argument} for a value that makes no sense; the value
  /// is of the row's kind.
  std::function<void(Options&, const OptionValue&)> set;
  std::function<OptionValue(const Options&)> get;
  OptionField<typename OptionsInC<Options>::type> field;
};
template<typename Options>
using OptionTable = std::vector<OptionRow<Options>>;

const OptionTable<BuildOptions>& build_option_table();
const OptionTable<LoadOptions>& load_option_table();
const OptionTable<VerifyOptions>& verify_option_table(); ///< But for `inputs`, whose values are tensors.
const OptionTable<ContextOptions>& context_option_table();
const OptionTable<VideoReaderOptions>& reader_option_table();
const OptionTable<EncoderOptions>& writer_option_table();
const OptionTable<Preprocess>& preprocess_option_table();

/// What an option is set to by a text, as the command line has it; of a list one entry. Files are opened
/// within `limits`. Throws Error{invalid_argument} that names the flag or what the text is to be, and
/// Error{unsupported} for kinds that no text says.
OptionValue parse_option(const OptionInfo& info, const std::string& text, const Limits& limits = {});
/// A value as one line, which parse_option() reads where the kind has a text; empty for none. For people and
/// tests.
std::string option_text(const OptionValue& value);

/// The row of this name; null where there is none.
template<typename Options>
const OptionRow<Options>* find_option(const OptionTable<Options>& table, std::string_view name) {
  for (const OptionRow<Options>& row : table)
    if (row.info.name == name) return &row;
  return nullptr;
}

/// `name = value`, a line for each option.
template<typename Options>
std::string options_text(const OptionTable<Options>& table, const Options& options) {
  std::string text;
  for (const OptionRow<Options>& row : table)
    text += std::string(row.info.name) + " = " + option_text(row.get(options)) + "\n";
  return text;
}

/// Sets what the members of a structure of <lanner/c.h> say; what is zero stays as it is.
template<typename Options>
void take_options(const OptionTable<Options>& table, const typename OptionsInC<Options>::type& given,
                  Options& options) {
  for (const OptionRow<Options>& row : table) {
    if (!row.field.read) continue;
    const OptionValue value = row.field.read(given);
    if (!std::holds_alternative<std::monostate>(value)) row.set(options, value);
  }
}

/// `total_bytes=4GiB,seconds=60`: limits by their names, comma separated. Throws Error{invalid_argument}.
Limits parse_limits(std::string_view text);
/// The name of a preset, or JSON: what <lanner/c.h> calls a `preprocess`. Throws Error{invalid_argument,
/// bad_data}.
Preprocess parse_preprocess(std::string_view text);
/// Seconds of `10s`, `500ms`, `2m`, `1.5`. Throws Error{invalid_argument}.
double parse_seconds(std::string_view text);
/// `4M`, `800k`, `2500000`: bits a second. Throws Error{invalid_argument}.
std::int64_t parse_bit_rate(std::string_view text);
/// `512MiB`, `4096`: bytes. Throws Error{invalid_argument}.
std::uint64_t parse_bytes(std::string_view text);
/// The fraction within a billionth of a rate in frames a second. Throws Error{invalid_argument} outside of
/// 1e-6 to 1e6.
Rational parse_frame_rate(double rate);

} // namespace lanner
