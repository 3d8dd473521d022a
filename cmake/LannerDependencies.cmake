# What is linked. A library that only one module needs may be absent: that module is left out, the rest builds.

find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
# Headers alone: NVIDIA's video libraries are opened at first use.
pkg_check_modules(ffnvcodec REQUIRED IMPORTED_TARGET ffnvcodec)

pkg_check_modules(
  ffmpeg IMPORTED_TARGET libavformat libavcodec libavutil libswscale libswresample libavfilter)
if(NOT ffmpeg_FOUND)
  message(STATUS "lanner: FFmpeg's development files not found, liblanner-ffmpeg.so is left out")
endif()

# Linked into the library, so that a machine that runs it needs none; its symbols stay inside.
find_path(LANNER_YAML_INCLUDE_DIR yaml.h REQUIRED)
find_library(LANNER_YAML_LIBRARY NAMES libyaml.a yaml REQUIRED)

# oneDNN ships no pkg-config file in Debian.
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  add_library(lanner_dnnl INTERFACE)
  target_include_directories(lanner_dnnl SYSTEM INTERFACE "${DNNL_INCLUDE_DIR}")
  target_link_libraries(lanner_dnnl INTERFACE "${DNNL_LIBRARY}")
else()
  message(STATUS "lanner: oneDNN (dnnl.hpp, libdnnl) not found, liblanner-onednn.so is left out")
endif()

# What every target of Lanner's own C++ is compiled with and linked to.
target_link_libraries(
  lanner_flags INTERFACE fmt::fmt PkgConfig::xxhash PkgConfig::ffnvcodec Threads::Threads ${CMAKE_DL_LIBS})
