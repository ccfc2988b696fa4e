#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace rolter::http {

namespace asio = boost::asio;

/// The concrete executor everywhere: any_io_executor costs an indirect call and a reference count
/// per operation.
using Executor = asio::io_context::executor_type;

/// A coroutine on an event loop. Arguments are taken by value or are owned by whoever awaits.
template <typename T = void>
using Task = asio::awaitable<T, Executor>;

using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Endpoint = asio::ip::tcp::endpoint;

}  // namespace rolter::http
