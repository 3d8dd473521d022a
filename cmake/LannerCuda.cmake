# Turns .cu files into fatbins that liblanner.so carries as byte arrays; no CUDA run-time library is linked.
#
# nvcc is taken from LANNER_NVCC, else from PyPI's nvidia-cuda-nvcc beside the Python in use, else from the machine.

set(LANNER_CUDA AUTO CACHE STRING "Compile CUDA kernels: AUTO (where nvcc is found), ON, OFF")
set_property(CACHE LANNER_CUDA PROPERTY STRINGS AUTO ON OFF)
set(LANNER_CUDA_ARCHITECTURES 75 80 90 CACHE STRING "Architectures compiled to machine code; the last one to PTX too")

function(lanner_find_nvcc)
  if(NOT LANNER_NVCC)
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c "import nvidia; print(';'.join(nvidia.__path__))"
      OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(TRANSFORM folders APPEND "/cu13/bin")
    find_program(LANNER_NVCC nvcc HINTS ${folders} PATHS "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin
                 DOC "CUDA compiler")
  endif()
  set(LANNER_NVCC "${LANNER_NVCC}" PARENT_SCOPE)
endfunction()

if(NOT LANNER_CUDA STREQUAL "OFF")
  lanner_find_nvcc()
  if(LANNER_NVCC)
    message(STATUS "lanner: CUDA kernels are compiled by ${LANNER_NVCC}")
  elseif(LANNER_CUDA STREQUAL "ON")
    message(FATAL_ERROR "lanner: LANNER_CUDA=ON, but no nvcc: run ./dev setup, or give -DLANNER_NVCC=<path>")
  else()
    message(STATUS "lanner: nvcc not found, CUDA kernels are left out")
  endif()
endif()

# lanner_fatbin_cache(<variable>): the folder in which builds share fatbins, where they share what is compiled at all.
function(lanner_fatbin_cache variable)
  set(folder "")
  if(LANNER_CCACHE)
    if(DEFINED ENV{CCACHE_DIR})
      set(folder "$ENV{CCACHE_DIR}/lanner-fatbins")
    elseif(DEFINED ENV{XDG_CACHE_HOME})
      set(folder "$ENV{XDG_CACHE_HOME}/lanner-fatbins")
    elseif(DEFINED ENV{HOME})
      set(folder "$ENV{HOME}/.cache/lanner-fatbins")
    endif()
  endif()
  set(${variable} "${folder}" PARENT_SCOPE)
endfunction()

# lanner_fatbin(<variable> <source.cu>): adds the commands that compile a source, returns the fatbin's path.
function(lanner_fatbin variable source)
  get_filename_component(stem "${source}" NAME_WE)
  set(fatbin "${CMAKE_BINARY_DIR}/cuda/${stem}.fatbin")
  list(GET LANNER_CUDA_ARCHITECTURES -1 newest)
  set(targets -gencode=arch=compute_${newest},code=compute_${newest})
  foreach(architecture IN LISTS LANNER_CUDA_ARCHITECTURES)
    list(APPEND targets -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  file(RELATIVE_PATH shown "${PROJECT_SOURCE_DIR}" "${source}")
  set(script "${PROJECT_SOURCE_DIR}/cmake/CompileFatbin.cmake")
  lanner_fatbin_cache(cache)
  add_custom_command(
    OUTPUT "${fatbin}"
    COMMAND "${CMAKE_COMMAND}" "-DNVCC=${LANNER_NVCC}" "-DSOURCE=${source}" "-DFATBIN=${fatbin}"
            "-DFLAGS=-std=c++17;-O3;${targets}"
            "-DINCLUDES=-I${PROJECT_SOURCE_DIR}/src;-I${PROJECT_SOURCE_DIR}/include;-ccbin;${CMAKE_CXX_COMPILER}"
            "-DCACHE=${cache}" -P "${script}"
    DEPENDS "${source}" "${script}" DEPFILE "${fatbin}.d" VERBATIM COMMENT "Compiling ${shown}")
  set(${variable} "${fatbin}" PARENT_SCOPE)
endfunction()

# lanner_nvcc_release(<variable>): the release of nvcc as drivers number it, 13000 for 13.0.
function(lanner_nvcc_release variable)
  execute_process(COMMAND "${LANNER_NVCC}" --version OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  if(NOT text MATCHES "release ([0-9]+)\\.([0-9]+)")
    message(FATAL_ERROR "lanner: ${LANNER_NVCC} --version names no release: ${text}")
  endif()
  math(EXPR release "1000 * ${CMAKE_MATCH_1} + 10 * ${CMAKE_MATCH_2}")
  set(${variable} "${release}" PARENT_SCOPE)
endfunction()

# lanner_embed_cuda(<target> <source.cu>...): gives the target the table declared in src/device/cuda/fatbin.h, with
# one array lanner_fatbin_<stem> for each source. Without nvcc the table is empty.
function(lanner_embed_cuda target)
  set(folder "${CMAKE_BINARY_DIR}/cuda")
  file(MAKE_DIRECTORY "${folder}")
  set(arrays "")
  set(rows "")
  set(fatbins "")
  set(release 0)
  set(newest 0)
  if(NOT LANNER_CUDA STREQUAL "OFF" AND LANNER_NVCC)
    lanner_nvcc_release(release)
    list(GET LANNER_CUDA_ARCHITECTURES -1 newest)
    foreach(source IN LISTS ARGN)
      lanner_fatbin(fatbin "${source}")
      get_filename_component(stem "${source}" NAME_WE)
      list(APPEND fatbins "${fatbin}")
      string(APPEND arrays "LANNER_EMBED(${stem}, \"${fatbin}\")\n")
      string(APPEND rows "    {\"${stem}\", lanner_fatbin_${stem}, lanner_fatbin_${stem}_end},\n")
    endforeach()
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/fatbins.cpp.in" "${folder}/fatbins.cpp" @ONLY)
  set_source_files_properties("${folder}/fatbins.cpp" PROPERTIES OBJECT_DEPENDS "${fatbins}")
  target_sources(${target} PRIVATE "${folder}/fatbins.cpp")
endfunction()
