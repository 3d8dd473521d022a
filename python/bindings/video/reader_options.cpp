#include "video/reader_options.h"

#include "calls/option_rows.h"

namespace lanner::python {

std::span<const Keyword> reader_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(reader_option_table(), false);
  return keywords;
}

VideoReaderOptions reader_options(const nb::kwargs& keywords) {
  VideoReaderOptions options;
  take_keywords("VideoReader", keywords, reader_keywords(), reader_option_table(), options);
  return options;
}

std::string reader_docs() {
  return "Opens a video.\n\nsource: path, bytes or a binary file object; a pipe, which cannot seek, can be "
         "read once\n" +
         keyword_docs(reader_keywords());
}

nb::tuple reduce_video(nb::handle self, nb::handle source, nb::handle options) {
  const bool plain = nb::isinstance<nb::str>(source) || nb::isinstance<nb::bytes>(source) ||
                     nb::hasattr(source, "__fspath__");
  if (!plain) throw nb::type_error("a reader of a file object cannot be pickled; open it by path or bytes");
  nb::dict kept;
  for (const auto& [key, value] : nb::cast<nb::dict>(options)) {
    const std::string name = nb::cast<std::string>(key);
    if (name != "index" && name != "cuda_stream" && name != "cuda_context") kept[key] = value;
  }
  const nb::object reopen = nb::module_::import_("lanner").attr("_reopen");
  return nb::make_tuple(reopen, nb::make_tuple(self.type(), source, kept));
}

} // namespace lanner::python
