# Precompiled headers: parsing the standard library and Asio is two thirds of a build. Sources still
# include what they use; nothing else changes by them. ROLTER_PCH=OFF shows that this holds.
option(ROLTER_PCH "Precompile the headers that most sources include" ON)

file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
if(ROLTER_PCH)  # without the time in it the compile cache knows it again
  target_compile_options(rolter_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# rolter_precompiled(name HEADERS... LINK ...): a set of headers that targets can reuse.
function(rolter_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK" ${ARGN})
  if(ROLTER_PCH)
    add_library(rolter_${name}_pch OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(rolter_${name}_pch PRIVATE rolter_options ${ARG_LINK})
    target_precompile_headers(rolter_${name}_pch PRIVATE ${ARG_HEADERS})
  endif()
endfunction()

function(rolter_use_precompiled target name)
  if(ROLTER_PCH)
    target_precompile_headers(${target} REUSE_FROM rolter_${name}_pch)
  endif()
endfunction()

# Only headers that define no data and no internal functions: with simdjson or CLI11 among them each
# object took 3 s longer, as it emits them anew.
set(std_headers
    <algorithm> <array> <atomic> <charconv> <chrono> <cstdint> <cstring> <deque> <expected>
    <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view>
    <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
set(asio_headers
    <boost/asio/as_tuple.hpp> <boost/asio/basic_stream_socket.hpp>
    <boost/asio/basic_waitable_timer.hpp> <boost/asio/buffer.hpp> <boost/asio/deferred.hpp>
    <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp>)
rolter_precompiled(std HEADERS ${std_headers})
rolter_precompiled(asio HEADERS ${std_headers} ${asio_headers})
