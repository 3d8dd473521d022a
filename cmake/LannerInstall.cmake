# Two ways out of the build: a tree for C and C++ (component "sdk": bin, lib, include, CMake's and pkg-config's files),
# and the component "wheel" for pip install. Both may be moved: everything finds its neighbours relative to itself.

include(CMakePackageConfigHelpers)

# lanner_install_sdk_files(): what find_package(lanner) and pkg-config read of lanner and lanner-runtime.
function(lanner_install_sdk_files)
  set(folder "${CMAKE_BINARY_DIR}/install")
  set(destination lib/cmake/lanner)
  install(EXPORT lannerTargets NAMESPACE lanner:: DESTINATION ${destination} COMPONENT sdk)
  configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/lannerConfig.cmake.in" "${folder}/lannerConfig.cmake" INSTALL_DESTINATION ${destination})
  # Until 1.0 a minor version may change interfaces.
  write_basic_package_version_file("${folder}/lannerConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  foreach(library IN ITEMS lanner lanner-runtime)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/lanner.pc.in" "${folder}/${library}.pc" @ONLY)
    install(FILES "${folder}/${library}.pc" DESTINATION lib/pkgconfig COMPONENT sdk)
  endforeach()
  install(FILES "${folder}/lannerConfig.cmake" "${folder}/lannerConfigVersion.cmake" DESTINATION ${destination}
          COMPONENT sdk)
endfunction()

get_property(modules GLOBAL PROPERTY LANNER_MODULES)
get_property(runtime_modules GLOBAL PROPERTY LANNER_RUNTIME_MODULES)
if(TARGET lanner)
  install(TARGETS lanner lanner-runtime EXPORT lannerTargets LIBRARY DESTINATION lib COMPONENT sdk INCLUDES DESTINATION include)
  if(modules)
    install(TARGETS ${modules} ${runtime_modules} LIBRARY DESTINATION lib COMPONENT sdk)
  endif()
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/lanner" DESTINATION include COMPONENT sdk)
  lanner_install_sdk_files()
  install(TARGETS lanner ${modules} LIBRARY DESTINATION lanner NAMELINK_SKIP COMPONENT wheel)
endif()
if(TARGET lanner_command)
  install(TARGETS lanner_command RUNTIME DESTINATION bin COMPONENT sdk)
  # Manual pages and completion say what this very command takes.
  install(CODE [[
    set(command "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/lanner")
    set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
    file(MAKE_DIRECTORY "${share}/man/man1" "${share}/bash-completion/completions" "${share}/zsh/site-functions"
         "${share}/fish/vendor_completions.d")
    execute_process(COMMAND "${command}" manual OUTPUT_FILE "${share}/man/man1/lanner.1" COMMAND_ERROR_IS_FATAL ANY)
    foreach(name IN ITEMS run probe decode transcode build bench eval calibrate convert tf tf-eval explain verify doctor completion manual)
      execute_process(COMMAND "${command}" manual ${name} OUTPUT_FILE "${share}/man/man1/lanner-${name}.1"
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    foreach(pair IN ITEMS bash=bash-completion/completions/lanner zsh=zsh/site-functions/_lanner
                          fish=fish/vendor_completions.d/lanner.fish)
      string(REPLACE "=" ";" pair "${pair}")
      list(GET pair 0 shell)
      list(GET pair 1 file)
      execute_process(COMMAND "${command}" completion ${shell} OUTPUT_FILE "${share}/${file}" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
  ]] COMPONENT sdk)
  # Beside the libraries and not in the environment's bin, whose distance to them depends on the Python version.
  install(TARGETS lanner_command RUNTIME DESTINATION lanner/bin COMPONENT wheel)
endif()
if(TARGET _lanner)
  install(TARGETS _lanner LIBRARY DESTINATION lanner COMPONENT wheel)
  install(FILES "${CMAKE_BINARY_DIR}/python/lanner/_lanner.pyi" DESTINATION lanner COMPONENT wheel)
endif()
