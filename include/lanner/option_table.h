#pragma once
// Options of builds, loads, contexts, video readers, video writers and preprocessing: a table for each, with
// one row per option. The command line, the Python package, the C interface and docs/options.md take names,
// help, defaults and values from these rows, so that an option is added by adding a row. See
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

#include <lanner/audio_reader.h>
#include <lanner/c_options.h>
#include <lanner/encoder.h>
#include <lanner/engine.h>
#include <lanner/transcode.h>
#include <lanner/video_reader.h>

namespace lanner {

/// Texts by name, in the order in which they were given.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;
using NamedShapes = std::map<std::string, ShapeRange>;

/// A further file of the model, or its bytes.
struct OptionSource {
  SourcePtr source;
  std::filesystem::path folder; ///< Folder of a file; empty for bytes.
};

/// The kind of an option's values, which decides how each interface reads, shows and documents them.
enum class OptionKind : std::uint8_t {
  flag,             ///< bool.
  integer,          ///< std::int32_t.
  bit_rate,         ///< std::int64_t, bits per second.
  bits,             ///< std::int64_t, bits.
  bytes,            ///< std::uint64_t, bytes of memory.
  seed,             ///< std::uint64_t.
  number,           ///< double.
  seconds,          ///< double.
  text,             ///< std::string.
  words,            ///< std::string of one or more words, separated by commas.
  path,             ///< std::string.
  texts,            ///< std::vector<std::string>.
  named_texts,      ///< NamedTexts.
  named_shapes,     ///< NamedShapes, by input name.
  profiles,         ///< std::vector<NamedShapes>.
  size,             ///< std::array<std::int32_t, 2>: width and height in pixels.
  region,           ///< PixelRect.
  two_numbers,      ///< std::array<float, 2>.
  three_numbers,    ///< std::array<float, 3>; a single number is used for all three.
  three_integers,   ///< std::array<std::int32_t, 3>; a single number is used for all three.
  dtype,            ///< std::string: name of an element type.
  preset,           ///< std::string, applied before the options that override parts of it.
  preprocess,       ///< Preprocess.
  named_preprocess, ///< std::map<std::string, Preprocess>, by input name.
  named_images,     ///< std::map<std::string, ImageInputOptions>, by input name.
  source,           ///< OptionSource.
  limits,           ///< Limits.
  environment,      ///< Environment.
  index,            ///< std::shared_ptr<const StreamIndex>.
  handle,           ///< void*: of CUDA's driver.
  control,          ///< Control: progress and cancellation of the call.
};

/// A value of one of these kinds. The first alternative: no value, or the option has none.
using OptionValue =
    std::variant<std::monostate, bool, std::int32_t, std::int64_t, std::uint64_t, double, std::string,
                 std::vector<std::string>, NamedTexts, NamedShapes, std::vector<NamedShapes>,
                 std::array<std::int32_t, 2>, std::array<std::int32_t, 3>, PixelRect, std::array<float, 2>,
                 std::array<float, 3>, Preprocess, std::map<std::string, Preprocess>,
                 std::map<std::string, ImageInputOptions>, OptionSource, Limits, Environment,
                 std::shared_ptr<const StreamIndex>, void*, Control>;

/// Which subcommands of `lanner` have an option: those that declare this use.
enum class OptionUse : std::uint8_t {
  always,
  profiles,   ///< Subcommands whose plan may serve several ranges of shapes.
  callers,    ///< Subcommands that make plans for callers with states or storages of their own.
  new_shapes, ///< Subcommands that may see new shapes while they run.
  plans,      ///< Subcommands that use plans unchanged.
  build,      ///< `lanner build` only.
};

/// Description of an option. Texts are static, in English, and begin in lower case.
struct OptionInfo {
  /// Python's keyword.
  std::string_view name;
  /// Help text, one clause: `threads of each context`. Each interface adds the syntax of values, the example
  /// and the default.
  std::string_view help;
  std::string_view details = {}; ///< Further clauses, separated by `; `.
  /// A value in command line syntax: shown in help, docstrings and errors, and set by tests.
  std::string_view example = {};
  /// Default of the command line and Python, if it is not the member's own default.
  std::string_view standard = {};
  std::string_view unset = {};      ///< Meaning of the member's default, where it is not literal.
  std::string_view flag = {};       ///< `--pin`.
  std::string_view short_flag = {}; ///< `-c`.
  std::string_view other_flag = {}; ///< A second name, for subcommands where `flag` is another option.
  std::string_view metavar = {};    ///< Placeholder of the value: `NODE=TYPE`; empty: by its kind.
  std::vector<std::string_view> choices = {}; ///< The accepted words, where they are few.
  bool other_words = false;                   ///< Other words are accepted too.
  OptionUse use = OptionUse::always;
  /// Bounds of integers on the command line.
  std::int64_t least = 0, most = std::numeric_limits<std::int32_t>::max();
  bool flag_value = true;          ///< The value that the flag of a `flag` sets.
  std::string_view flag_help = {}; ///< Replaces the texts above for a flag that sets false.
  /// `named_texts`: split NAME=TEXT at the last `=` (names may contain it), else at the first.
  bool last_equals = false;
  bool empty_texts = false;     ///< `named_texts`: a text may be empty.
  bool comma_separated = false; ///< `texts`: several in one value on the command line.
  bool second_network = false;  ///< In `lanner run` it applies to the second network too.
  bool torch_compile = false;   ///< Also an option of torch.compile: it names nothing inside a model.
  bool required = false;        ///< Required in Python.
  /// Why an interface lacks it; empty where it has it.
  std::string_view no_flag = {}, no_keyword = {}, no_field = {};
  OptionKind kind = OptionKind::flag; ///< Set by the table.
};

/// The structure of <lanner/c.h> that corresponds to `Options`.
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
  /// No value for a member of zero. Throws Error{invalid_argument} for null pointers where texts or arrays
  /// are required.
  std::function<OptionValue(const Structure&)> read;
};

/// One option.
template<typename Options>
struct OptionRow {
  OptionInfo info;
  /// Sets the option; appends to lists. Throws Error{invalid_argument} for an invalid value; the value has
  /// the row's kind.
  std::function<void(Options&, const OptionValue&)> set;
  std::function<OptionValue(const Options&)> get;
  OptionField<typename OptionsInC<Options>::type> field;
};
template<typename Options>
using OptionTable = std::vector<OptionRow<Options>>;

const OptionTable<BuildOptions>& build_option_table();
const OptionTable<LoadOptions>& load_option_table();
const OptionTable<VerifyOptions>& verify_option_table(); ///< Without `inputs`, whose values are tensors.
const OptionTable<ContextOptions>& context_option_table();
const OptionTable<VideoReaderOptions>& reader_option_table();
const OptionTable<EncoderOptions>& writer_option_table();
const OptionTable<TranscodeOptions>& transcode_option_table(); ///< Besides the writer's.
/// Options of Encoder only: a VideoWriter sets them as its container needs, or has no use for them.
const OptionTable<EncoderOptions>& encoder_option_table();
const OptionTable<AudioReaderOptions>& audio_reader_option_table();
const OptionTable<AudioEncoderOptions>& audio_encoder_option_table(); ///< Of video writers with audio.
const OptionTable<Preprocess>& preprocess_option_table();

/// Parses an option's value in command line syntax; for a list one entry. Files are opened within `limits`.
/// Throws Error{invalid_argument} that names the flag or the expected value, and Error{unsupported} for kinds
/// without a text form.
OptionValue parse_option(const OptionInfo& info, const std::string& text, const Limits& limits = {});
/// A value as one line, which parse_option() reads where the kind has a text form; empty for no value. For
/// people and tests.
std::string option_text(const OptionValue& value);

/// The row of this name; null where there is none.
template<typename Options>
const OptionRow<Options>* find_option(const OptionTable<Options>& table, std::string_view name) {
  for (const OptionRow<Options>& row : table)
    if (row.info.name == name) return &row;
  return nullptr;
}

/// `name = value`, one line per option.
template<typename Options>
std::string options_text(const OptionTable<Options>& table, const Options& options) {
  std::string text;
  for (const OptionRow<Options>& row : table)
    text += std::string(row.info.name) + " = " + option_text(row.get(options)) + "\n";
  return text;
}

/// Sets options from the members of a structure of <lanner/c.h>; zero members are skipped.
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
/// The name of a preset, or JSON: a `preprocess` of <lanner/c.h>. Throws Error{invalid_argument, bad_data}.
Preprocess parse_preprocess(std::string_view text);
/// Parses `10s`, `500ms`, `2m`, `1.5` as seconds. Throws Error{invalid_argument}.
double parse_seconds(std::string_view text);
/// `4M`, `800k`, `2500000`: bits per second. Throws Error{invalid_argument}.
std::int64_t parse_bit_rate(std::string_view text);
/// `512MiB`, `4096`: bytes. Throws Error{invalid_argument}.
std::uint64_t parse_bytes(std::string_view text);
/// A fraction within a billionth of a rate in frames per second. Throws Error{invalid_argument} outside of
/// 1e-6 to 1e6.
Rational parse_frame_rate(double rate);

} // namespace lanner
