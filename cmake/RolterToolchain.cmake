# Compiler, linker and library settings shared by every target, as the interface library
# rolter_options. Third-party headers are SYSTEM so that their warnings stay theirs.

find_program(ROLTER_CCACHE ccache)
if(ROLTER_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${ROLTER_CCACHE})
endif()

add_library(rolter_options INTERFACE)
target_include_directories(rolter_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(
  rolter_options
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
            -Woverloaded-virtual -Werror -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
target_compile_definitions(
  rolter_options
  INTERFACE BOOST_ASIO_NO_DEPRECATED FMT_SHARED SPDLOG_FMT_EXTERNAL SPDLOG_COMPILED_LIB
            TOML_EXCEPTIONS=0 TOML_HEADER_ONLY=1)

if(ROLTER_SANITIZE)
  target_compile_options(rolter_options INTERFACE -fsanitize=${ROLTER_SANITIZE}
                                                  -fno-omit-frame-pointer)
  target_link_options(rolter_options INTERFACE -fsanitize=${ROLTER_SANITIZE})
  if(ROLTER_SANITIZE MATCHES "undefined")
    target_compile_options(rolter_options INTERFACE -fno-sanitize-recover=undefined)
    target_link_options(rolter_options INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

# Coverage counters in every folder, or libFuzzer would see its own entry point only. In tests they
# would only cost.
if(ROLTER_FUZZ)
  set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  set(is_of_tests $<STREQUAL:$<TARGET_PROPERTY:NAME>,rolter_test_pch>)
  target_compile_options(
    rolter_options
    INTERFACE $<$<NOT:$<OR:${is_program},${is_of_tests}>>:-fsanitize=fuzzer-no-link>)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(rolter_options INTERFACE -flto=thin)
  target_link_options(rolter_options INTERFACE -flto=thin -fuse-ld=lld-19
                      -Wl,--thinlto-cache-dir=${CMAKE_BINARY_DIR}/lto-cache)
else()
  target_link_options(rolter_options INTERFACE -fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(simdjson REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(absl REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_library(ROLTER_ZMQ_LIBRARY zmq REQUIRED)
find_library(ROLTER_XXHASH_LIBRARY xxhash REQUIRED)

# Abseil promises no binary interface from one release to the next, and its forty small libraries
# are forty more places to look for code: the binary that is shipped has what it uses inside.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER imported INCLUDE REGEX "^absl::")
  foreach(target ${imported})
    get_target_property(shared ${target} IMPORTED_LOCATION_NONE)
    if(shared)
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${shared}")
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE "${archive}")
    endif()
  endforeach()
endif()
