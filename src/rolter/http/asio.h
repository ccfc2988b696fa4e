#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>

#include "rolter/http/task.h"

namespace rolter::http {

namespace asio = boost::asio;

/// The concrete executor everywhere: any_io_executor costs an indirect call and a reference count
/// per operation.
using Executor = asio::io_context::executor_type;

using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Endpoint = asio::ip::tcp::endpoint;

/// For waits that are rare or must be exact; limits on I/O use a Deadline instead.
using LoopTimer =
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>, Executor>;

}  // namespace rolter::http
