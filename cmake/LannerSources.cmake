# Sources are found by folder and compiled by suffix, so that a new file needs no edit here.

# Where a loop of a few instructions begins decides half of its time, and without this any change of the file moves it.
set(LANNER_BASELINE_FLAGS -falign-loops=64)
set(LANNER_AVX2_FLAGS ${LANNER_BASELINE_FLAGS} -mavx2 -mfma -mf16c)
set(LANNER_AVX512_FLAGS
    ${LANNER_AVX2_FLAGS} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
# GCC 12's own intrinsics headers set off these two (GCC bug 105593).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND LANNER_AVX512_FLAGS -Wno-uninitialized -Wno-maybe-uninitialized)
endif()

# lanner_glob(<variable> <folder> <pattern>...): all files below the folder, sorted.
function(lanner_glob variable folder)
  list(TRANSFORM ARGN PREPEND "${folder}/" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  list(SORT found)
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# lanner_each_isa(<variable>): in a list of sources, each *_each.cpp is replaced by three files that include it, one for
# each instruction set.
function(lanner_each_isa variable)
  set(sources ${${variable}})
  foreach(source IN LISTS sources)
    if(source MATCHES "_each\\.cpp$")
      list(REMOVE_ITEM sources "${source}")
      file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/src" "${source}")
      foreach(isa IN ITEMS baseline avx2 avx512)
        string(REPLACE "_each.cpp" "_${isa}.cpp" copy "${PROJECT_BINARY_DIR}/isa/${name}")
        file(CONFIGURE OUTPUT "${copy}" CONTENT "#include \"${name}\"\n" @ONLY)
        list(APPEND sources "${copy}")
      endforeach()
    endif()
  endforeach()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# lanner_simd_flags(<source>...): a file named *_<isa>.cpp is compiled for that instruction set; `baseline` is the
# least that runs everywhere.
function(lanner_simd_flags)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "_(baseline|avx2|avx512)\\.cpp$")
      string(TOUPPER ${CMAKE_MATCH_1} isa)
      set_source_files_properties(
        ${source} PROPERTIES COMPILE_OPTIONS "${LANNER_${isa}_FLAGS}" SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# What nearly every file reads, parsed once; no header of ours, so that an edit compiles what includes it and no more.
# A file all the same includes what it uses: builds by clang++, with sanitizers and for instruction sets have none of it.
set(LANNER_COMMON_HEADERS
    <algorithm> <array> <atomic> <bit> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstring> <exception>
    <filesystem> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view>
    <thread> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# lanner_precompile(<target> [<header>...] | <target> REUSE_FROM <other>): common headers, and more of them.
function(lanner_precompile target)
  if(LANNER_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if("${ARGN}" MATCHES "^REUSE_FROM;")
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(${target} PRIVATE ${LANNER_COMMON_HEADERS} ${ARGN})
  endif()
endfunction()
