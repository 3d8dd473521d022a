# Writes a C++ source in which each file is a string_view called after it: page.css is page_css. Run by the build:
# cmake -DOUTPUT=x.cpp -DHEADER=assets.h -DNAMESPACE=a::b "-DFILES=page.css;page.js" -P EmbedText.cmake

set(text "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
foreach(file IN LISTS FILES)
  cmake_path(GET file FILENAME name)
  string(MAKE_C_IDENTIFIER "${name}" name)
  file(READ "${file}" content)
  if(content MATCHES "\\)lanner_text\"")
    message(FATAL_ERROR "${file}: holds )lanner_text\", which ends a text in the source")
  endif()
  string(APPEND text "const std::string_view ${name} = R\"lanner_text(${content})lanner_text\";\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}\n} // namespace ${NAMESPACE}\n")
