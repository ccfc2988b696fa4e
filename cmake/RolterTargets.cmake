# Sources of one target are compiled several at a time: headers and templates that they share are then
# parsed and made once, a third of a build from nothing. So names in anonymous namespaces are told
# apart within a folder. ROLTER_UNITY=OFF compiles each by itself, which is quicker after a change
# of one and is what clang-tidy reads.
option(ROLTER_UNITY "Compile the sources of a target several at a time" ON)
function(rolter_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ROLTER_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# rolter_library(config SOURCES a.cpp b.cpp LINK rolter_base absl::...)
# One static library per folder of src/rolter, named rolter_<folder>. ASIO: most of its sources
# include Asio.
function(rolter_library name)
  cmake_parse_arguments(ARG "ASIO" "" "SOURCES;LINK" ${ARGN})
  if(ARG_SOURCES)
    add_library(rolter_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(rolter_${name} PUBLIC rolter_options ${ARG_LINK})
    rolter_compile_together(rolter_${name})
    if(ARG_ASIO)
      rolter_use_precompiled(rolter_${name} asio)
    else()
      rolter_use_precompiled(rolter_${name} std)
    endif()
  else()
    add_library(rolter_${name} INTERFACE)
    target_link_libraries(rolter_${name} INTERFACE rolter_options ${ARG_LINK})
  endif()
endfunction()

# What the sanitizer runs need, and no more: `make asan`, `make tsan`.
add_custom_target(sanitized_tests)
# The libFuzzer programs: `make fuzz`.
add_custom_target(fuzz_targets)

# rolter_test_limits(unit/kvcache LABEL unit [TIMEOUT secs] [ENV A=1]): for every test that runs
# programs of ours. Sanitizers are slow: limits are three times as long with one.
function(rolter_test_limits test)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABEL;ENV" ${ARGN})
  set(seconds 120)
  if(ARG_TIMEOUT)
    set(seconds ${ARG_TIMEOUT})
  endif()
  if(ROLTER_SANITIZE)
    math(EXPR seconds "3 * ${seconds}")
  endif()
  set_tests_properties(
    ${test}
    PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${seconds} ENVIRONMENT
               "ASAN_OPTIONS=detect_stack_use_after_return=1;TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tools/tsan.supp second_deadlock_stack=1;${ARG_ENV}")
endfunction()

# rolter_test(kvcache LABEL unit [THREADS] SOURCES prefix_tree_test.cpp LINK rolter_kvcache [ENV A=1]
# [TIMEOUT secs]): one GoogleTest program <folder>_test; ctest runs it whole under the label.
# THREADS: it has several, so `make tsan` builds and runs it; without them there is nothing to find.
function(rolter_test name)
  cmake_parse_arguments(ARG "THREADS" "LABEL;TIMEOUT" "SOURCES;LINK;ENV" ${ARGN})
  set(target ${name}_${ARG_LABEL}_test)
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LINK} rolter_test_data GTest::gmock GTest::gtest
                                          GTest::gtest_main)
  rolter_use_precompiled(${target} test)
  rolter_compile_together(${target})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  add_test(NAME ${ARG_LABEL}/${name} COMMAND ${target})
  set(label ${ARG_LABEL})
  if(ARG_THREADS)
    list(APPEND label threads)
  endif()
  if(ARG_THREADS OR NOT ROLTER_SANITIZE MATCHES "thread")
    add_dependencies(sanitized_tests ${target})
  endif()
  rolter_test_limits(${ARG_LABEL}/${name} LABEL "${label}" TIMEOUT ${ARG_TIMEOUT} ENV ${ARG_ENV})
endfunction()

# rolter_fuzz(config_toml LINK rolter_config): fuzz/<name>_fuzz.cpp with LLVMFuzzerTestOneInput and
# its corpus in fuzz/corpus/<name>/. Without ROLTER_FUZZ the corpus is replayed as a plain test.
function(rolter_fuzz name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name}_fuzz ${name}_fuzz.cpp)
  target_link_libraries(${name}_fuzz PRIVATE ${ARG_LINK} rolter_options)
  target_include_directories(${name}_fuzz PRIVATE ${CMAKE_SOURCE_DIR})
  rolter_use_precompiled(${name}_fuzz std)
  if(ROLTER_FUZZ)
    target_compile_options(${name}_fuzz PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_targets ${name}_fuzz)
  else()
    target_sources(${name}_fuzz PRIVATE replay_main.cpp)
    add_test(NAME fuzz/${name} COMMAND ${name}_fuzz ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
    set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 120)
  endif()
endfunction()

# rolter_bench(kvcache SOURCES prefix_tree_bench.cpp LINK rolter_kvcache)
# Built by the target `benches`, not with the tests: they belong to make check and make bench.
function(rolter_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name}_bench EXCLUDE_FROM_ALL ${ARG_SOURCES})
  add_dependencies(benches ${name}_bench)
  target_link_libraries(${name}_bench PRIVATE ${ARG_LINK} benchmark::benchmark
                                              benchmark::benchmark_main)
  target_include_directories(${name}_bench PRIVATE ${CMAKE_SOURCE_DIR})
  if(ROLTER_TESTS)
    add_test(NAME bench/${name} COMMAND ${name}_bench --benchmark_min_time=0.01)
    set_tests_properties(bench/${name} PROPERTIES LABELS bench TIMEOUT 300)
  endif()
endfunction()
