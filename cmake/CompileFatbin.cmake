# Compiles one .cu file to a fatbin and writes its depfile. ccache does not know fatbins: with CACHE, a folder, what a
# build of the same text by the same nvcc has made is taken from there, whichever checkout or build folder that was in.
# cmake -DNVCC=nvcc -DSOURCE=x.cu -DFATBIN=x.fatbin "-DFLAGS=...;..." "-DINCLUDES=-I...;-I..." -DCACHE=folder -P CompileFatbin.cmake

execute_process(
  COMMAND "${NVCC}" -M ${FLAGS} ${INCLUDES} -MF "${FATBIN}.d" -MT "${FATBIN}" "${SOURCE}" COMMAND_ERROR_IS_FATAL ANY)

# kept_as(<variable>): the file of CACHE that this source's fatbin is kept in; empty where there is none.
function(kept_as variable)
  set(${variable} "" PARENT_SCOPE)
  if(NOT CACHE)
    return()
  endif()
  execute_process(COMMAND "${CMAKE_COMMAND}" -E make_directory "${CACHE}" RESULT_VARIABLE status ERROR_QUIET)
  if(NOT status EQUAL 0)
    return()
  endif()
  file(READ "${FATBIN}.d" rule)
  string(REPLACE "\\\n" " " rule "${rule}")
  string(REGEX REPLACE "^[^:]*:" "" rule "${rule}")
  separate_arguments(files UNIX_COMMAND "${rule}")
  execute_process(COMMAND "${NVCC}" --version OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  foreach(file IN LISTS files)
    if(NOT EXISTS "${file}")
      return()
    endif()
    file(SHA256 "${file}" hash)
    string(APPEND text "${hash}\n")
  endforeach()
  string(SHA256 key "${text}${FLAGS}")
  set(${variable} "${CACHE}/${key}.fatbin" PARENT_SCOPE)
endfunction()

kept_as(kept)
if(kept AND EXISTS "${kept}")
  file(COPY_FILE "${kept}" "${FATBIN}")
  file(TOUCH_NOCREATE "${FATBIN}")
  return()
endif()
execute_process(
  COMMAND "${NVCC}" -fatbin ${FLAGS} ${INCLUDES} -o "${FATBIN}" "${SOURCE}" COMMAND_ERROR_IS_FATAL ANY)
if(kept)
  string(RANDOM LENGTH 8 mark)
  file(COPY_FILE "${FATBIN}" "${kept}.${mark}")
  file(RENAME "${kept}.${mark}" "${kept}")
endif()
