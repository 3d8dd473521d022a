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
  # Beside the libraries and not in the environment's bin, whose distance to them depends on the Python version.
  install(TARGETS lanner_command RUNTIME DESTINATION lanner/bin COMPONENT wheel)
endif()
if(TARGET _lanner)
  install(TARGETS _lanner LIBRARY DESTINATION lanner COMPONENT wheel)
  install(FILES "${CMAKE_BINARY_DIR}/python/lanner/_lanner.pyi" DESTINATION lanner COMPONENT wheel)
endif()
