#pragma once

#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rolter/http/frame_pool.h"

namespace rolter::http {

namespace detail {

/// What every coroutine of a loop has: who awaits it, what it threw, and the outermost of the chain
/// it belongs to, which is what there is to destroy when the loop ends before it does.
class PromiseBase {
 public:
  static void* operator new(std::size_t bytes) { return FramePool::take(bytes); }
  static void operator delete(void* frame, std::size_t bytes) { FramePool::give(frame, bytes); }

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  void unhandled_exception() { exception_ = std::current_exception(); }

  template <typename Awaited>
  decltype(auto) await_transform(Awaited&& awaited);

  [[nodiscard]] std::coroutine_handle<> chain() const { return chain_; }
  void begin_chain(std::coroutine_handle<> outermost) { chain_ = outermost; }
  void awaited_by(std::coroutine_handle<> caller, const PromiseBase& promise) {
    caller_ = caller;
    chain_ = promise.chain_;
  }

 protected:
  struct ToCaller {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
      return caller;
    }
    void await_resume() const noexcept {}
    std::coroutine_handle<> caller;
  };

  void rethrow() const {
    if (exception_) {
      std::rethrow_exception(exception_);
    }
  }

  std::coroutine_handle<> caller_;

 private:
  std::coroutine_handle<> chain_;
  std::exception_ptr exception_;
};

template <typename T>
class Promise;

}  // namespace detail

/// A coroutine on an event loop. Starts when it is awaited, goes on in its caller when it ends, and
/// is destroyed with this object; asio::awaitable does the same at several times the cost (see
/// docs/adr/0003). Arguments are taken by value or are owned by whoever awaits. What it can wait
/// for is another Task and an operation of Asio with asio::deferred.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) {
      frame_.destroy();
    }
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Caller>
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Caller> caller) {
    frame_.promise().awaited_by(caller, caller.promise());
    return frame_;
  }
  T await_resume() { return frame_.promise().result(); }

 private:
  std::coroutine_handle<promise_type> frame_;
};

/// What is mostly there at once and else takes a task: the rare wait alone costs a coroutine.
template <typename T>
class [[nodiscard]] Eventual {
 public:
  template <typename Value>
    requires(std::convertible_to<Value, T> && !std::same_as<std::remove_cvref_t<Value>, Eventual>)
  Eventual(Value&& value)  // NOLINT(google-explicit-constructor): see above
      : value_(std::forward<Value>(value)) {}
  Eventual(Task<T> task)
      : task_(std::move(task)) {}  // NOLINT(google-explicit-constructor): see above

  [[nodiscard]] bool await_ready() const noexcept { return value_.has_value(); }
  template <typename Caller>
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Caller> caller) {
    return task_->await_suspend(caller);
  }
  T await_resume() { return value_ ? std::move(*value_) : task_->await_resume(); }

 private:
  std::optional<T> value_;
  std::optional<Task<T>> task_;
};

namespace detail {

template <typename T>
class Promise : public PromiseBase {
 public:
  [[nodiscard]] Task<T> get_return_object() {
    return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
  }
  [[nodiscard]] ToCaller final_suspend() const noexcept { return {caller_}; }
  template <typename Value>
  void return_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
  }
  [[nodiscard]] T result() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  [[nodiscard]] Task<> get_return_object() {
    return Task<>(std::coroutine_handle<Promise>::from_promise(*this));
  }
  [[nodiscard]] ToCaller final_suspend() const noexcept { return {caller_}; }
  void return_void() const {}
  void result() const { rethrow(); }
};

/// Waits for one operation of Asio, which ends with one result or none.
template <typename Operation, typename... Result>
class OperationAwaiter {
 public:
  explicit OperationAwaiter(Operation&& operation) : operation_(std::move(operation)) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <typename Caller>
  void await_suspend(std::coroutine_handle<Caller> caller) {
    std::move(operation_)(Handler(*this, caller, caller.promise().chain()));
  }
  auto await_resume() {
    if constexpr (sizeof...(Result) > 0) {
      return std::get<0>(*std::move(result_));
    }
  }

 private:
  /// Asio destroys a handler uncalled only when the loop itself ends: nobody will ever resume the
  /// chain then.
  class Handler {
   public:
    Handler(OperationAwaiter& to, std::coroutine_handle<> caller, std::coroutine_handle<> chain)
        : to_(&to), caller_(caller), chain_(chain) {}
    Handler(Handler&& other) noexcept
        : to_(other.to_), caller_(other.caller_), chain_(std::exchange(other.chain_, nullptr)) {}
    ~Handler() {
      if (chain_) {
        chain_.destroy();
      }
    }

    void operator()(Result... result) {
      chain_ = nullptr;
      to_->result_.emplace(std::move(result)...);
      caller_.resume();
    }

   private:
    OperationAwaiter* to_;
    std::coroutine_handle<> caller_;
    std::coroutine_handle<> chain_;
  };

  Operation operation_;
  std::optional<std::tuple<Result...>> result_;
};

template <typename... Result, typename Initiation, typename... Arguments>
auto await_operation(
    boost::asio::deferred_async_operation<void(Result...), Initiation, Arguments...>&& operation) {
  static_assert(sizeof...(Result) <= 1, "asio::as_tuple makes one of several");
  using Operation =
      boost::asio::deferred_async_operation<void(Result...), Initiation, Arguments...>;
  return OperationAwaiter<Operation, Result...>(std::move(operation));
}

template <typename Awaited>
decltype(auto) PromiseBase::await_transform(Awaited&& awaited) {
  if constexpr (requires { await_operation(std::forward<Awaited>(awaited)); }) {
    return await_operation(std::forward<Awaited>(awaited));
  } else {
    return std::forward<Awaited>(awaited);
  }
}

/// The outermost coroutine of a chain: owns itself.
struct Chain {
  class promise_type : public PromiseBase {
   public:
    [[nodiscard]] Chain get_return_object() {
      const auto self = std::coroutine_handle<promise_type>::from_promise(*this);
      begin_chain(self);
      return {self};
    }
    [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
    void unhandled_exception() const noexcept { std::terminate(); }  // `done` must not throw
    void return_void() const {}
  };

  std::coroutine_handle<promise_type> frame;
};

template <typename Done>
Chain run_chain(Task<> task, Done done) {
  std::exception_ptr exception;
  try {
    co_await std::move(task);
  } catch (...) {
    exception = std::current_exception();
  }
  done(exception);
}

/// Starts a chain on its loop, or destroys it when that ends first.
class ChainStart {
 public:
  explicit ChainStart(std::coroutine_handle<> chain) : chain_(chain) {}
  ChainStart(ChainStart&& other) noexcept : chain_(std::exchange(other.chain_, nullptr)) {}
  ~ChainStart() {
    if (chain_) {
      chain_.destroy();
    }
  }
  void operator()() { std::exchange(chain_, nullptr).resume(); }

 private:
  std::coroutine_handle<> chain_;
};

}  // namespace detail

/// Starts `task` on the loop of `executor`, in a later step of it; `done(std::exception_ptr)` is
/// called there when it has ended, with what it threw, if anything. Not called when the loop ends
/// first.
template <typename Done>
void spawn(const boost::asio::io_context::executor_type& executor, Task<> task, Done done) {
  boost::asio::post(executor,
                    detail::ChainStart(detail::run_chain(std::move(task), std::move(done)).frame));
}

}  // namespace rolter::http
