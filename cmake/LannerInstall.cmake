# Two ways out of the build: a tree for C++ (bin, lib, include), and the component "wheel" for pip install.

get_property(modules GLOBAL PROPERTY LANNER_MODULES)
if(TARGET lanner)
  install(TARGETS lanner ${modules} LIBRARY DESTINATION lib COMPONENT sdk)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/lanner" DESTINATION include COMPONENT sdk)
  install(TARGETS lanner ${modules} LIBRARY DESTINATION lanner COMPONENT wheel)
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
