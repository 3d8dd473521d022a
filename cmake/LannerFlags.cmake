# Flags, output folders and run paths that every target shares.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

# The same relative run paths serve the build folder and an installed tree.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib")

# Checkouts side by side share what they compile: no path of this one is in what is compiled. Precompiled headers have
# 100 MB each: ccache keeps their hashes, by inode and times, and does not read them again for each file.
find_program(LANNER_CCACHE ccache)
if(LANNER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_INODECACHE=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${LANNER_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  # ccache takes a precompiled header that is there for a part of what it is made of anew, and finds nothing then.
  if(NOT "${LANNER_LAST_LAUNCHER}" STREQUAL "${launcher}")
    file(GLOB_RECURSE precompiled "${CMAKE_BINARY_DIR}/*.gch")
    if(precompiled)
      file(REMOVE ${precompiled})
    endif()
    set(LANNER_LAST_LAUNCHER "${launcher}" CACHE INTERNAL "What compiled the files of this folder")
  endif()
endif()
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")

set(LANNER_SANITIZE "" CACHE STRING "Sanitizers for every target, for example address,undefined")
option(LANNER_WERROR "Treat warnings as errors" OFF)

set(LANNER_COVERAGE "" CACHE STRING "Regular expression of files of src/ that are compiled for gcov")
if(LANNER_COVERAGE)
  add_link_options(--coverage)
endif()

option(LANNER_FUZZ "Build the libFuzzer binaries of tests/fuzz; needs clang++" OFF)

add_library(lanner_flags INTERFACE)
# Loops may ask for vectors by `#pragma omp simd`; nothing uses OpenMP's threads.
target_compile_options(
  lanner_flags INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion -fno-semantic-interposition -fopenmp-simd)
target_link_options(lanner_flags INTERFACE -Wl,-Bsymbolic-functions -Wl,--as-needed)
set(LANNER_NO_UNDEFINED -Wl,--no-undefined)
if(LANNER_WERROR)
  target_compile_options(lanner_flags INTERFACE -Werror)
endif()
if(LANNER_SANITIZE)
  add_compile_options(-fsanitize=${LANNER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LANNER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options(-Wno-pass-failed) # Loops with checks in them are not vectorised.
    set(LANNER_NO_UNDEFINED "") # The sanitizers lie in the program, whose libraries take them from there.
  endif()
  # Half the time of a build, and line numbers all the same.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")
endif()
if(LANNER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "lanner: LANNER_FUZZ needs clang++, not ${CMAKE_CXX_COMPILER}: run ./dev fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
