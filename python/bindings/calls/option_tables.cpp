// The tables of options for the package's Python code and its tests.

#include <lanner/error.h>
#include <lanner/tensorflow.h>

#include "calls/check.h"
#include "calls/option_rows.h"

namespace lanner::python {
namespace {

/// Calls `use(table)` with the named table.
template<typename Use>
auto with_table(const std::string& name, Use use) {
  if (name == "build") return use(build_option_table());
  if (name == "load") return use(load_option_table());
  if (name == "verify") return use(verify_option_table());
  if (name == "context") return use(context_option_table());
  if (name == "reader") return use(reader_option_table());
  if (name == "writer") return use(writer_option_table());
  if (name == "encoder") return use(encoder_option_table());
  if (name == "transcode") return use(transcode_option_table());
  if (name == "audio_reader") return use(audio_reader_option_table());
  if (name == "audio_encoder") return use(audio_encoder_option_table());
  if (name == "convert") return use(tf::convert_option_table());
  if (name == "preprocess") return use(preprocess_option_table());
  fail(ErrorCode::invalid_argument, "no table of options is called {}", name);
}

template<typename Options>
std::string options_by_keywords(const OptionTable<Options>& table, const nb::dict& given) {
  Options options;
  const nb::kwargs keywords = nb::borrow<nb::kwargs>(given);
  std::vector<Keyword> known = keywords_of(table, true);
  for (Keyword& keyword : known) keyword.required = false; // options are tested one at a time
  take_keywords("options", keywords, known, table, options,
                [](const std::string& name, nb::handle) { fail_type(name + " is for calls alone"); });
  return options_text(table, options);
}

template<typename Options>
nb::list rows_of(const OptionTable<Options>& table) {
  nb::list rows;
  for (const OptionRow<Options>& row : table) {
    const OptionInfo& info = row.info;
    nb::dict row_dict;
    row_dict["name"] = text_of(info.name);
    row_dict["help"] = text_of(info.help);
    row_dict["flag"] = text_of(info.flag);
    row_dict["field"] = text_of(row.field.name);
    row_dict["example"] = text_of(info.example);
    row_dict["keyword"] = info.no_keyword.empty();
    row_dict["torch_compile"] = info.torch_compile;
    row_dict["text"] = nb::none();
    if (!info.example.empty()) {
      Options options;
      row.set(options, parse_option(info, std::string(info.example)));
      row_dict["text"] = text_of(option_text(row.get(options)));
    }
    rows.append(row_dict);
  }
  return rows;
}

} // namespace

void register_option_rows(nb::module_& module) {
  module.def("_option_rows", [](const std::string& table) {
    return with_table(table, [](const auto& rows) { return rows_of(rows); });
  });
  module.def("_options_text", [](const std::string& table, const nb::dict& given) {
    return with_table(table, [&](const auto& rows) { return options_by_keywords(rows, given); });
  });
}

} // namespace lanner::python
