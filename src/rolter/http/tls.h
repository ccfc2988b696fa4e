#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rolter/base/error.h"

struct ssl_ctx_st;
struct ssl_st;

namespace rolter::http {

/// What all TLS connections of one kind have in common: certificates and rules. TLS 1.2 and later,
/// ALPN "http/1.1". Immutable and shared by all loops; a reload makes another one.
class TlsContext {
 public:
  /// For accepting, with a certificate chain and its private key (PEM files).
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> for_server(
      const std::string& cert_file, const std::string& key_file);

  /// For connecting: trusts the system's certificate authorities and those in `ca_files` (PEM).
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> for_client(
      std::span<const std::string> ca_files);

  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  [[nodiscard]] ssl_ctx_st* native() const { return context_; }

 private:
  ssl_ctx_st* context_;
};

/// How a peer is spoken to: with TLS when there is a context. `name` is what its certificate must
/// be for, a DNS name or an address, and goes out as SNI when it is a name.
struct TlsPeer {
  std::shared_ptr<const TlsContext> context;
  std::string name;
};

/// TLS on one connected socket that does not block. Every call does what it can now and says what
/// it is waiting for. One loop.
class TlsSession {
 public:
  enum class Wait : std::uint8_t { kNone, kReadable, kWritable };
  struct Step {
    std::size_t bytes = 0;
    Wait wait = Wait::kNone;
  };

  [[nodiscard]] static std::unique_ptr<TlsSession> accepting(const TlsContext& context, int socket);
  [[nodiscard]] static std::unique_ptr<TlsSession> connecting(const TlsPeer& peer, int socket);
  /// Takes the session over; see accepting() and connecting().
  explicit TlsSession(ssl_st* session) : session_(session) {}
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Errors: kConnectFailed, which says what is wrong with the peer or its certificate.
  [[nodiscard]] Result<Step> handshake();

  /// Errors: kConnectionClosed when the peer said that it has ended, else kConnectionReset: what
  /// ends without that word may have been cut off.
  [[nodiscard]] Result<Step> read(std::span<char> into);

  /// After a Step that waits, the next call must begin with the same bytes.
  [[nodiscard]] Result<Step> write(std::string_view bytes);

  /// Tells the peer that nothing more comes, as far as the socket takes it now.
  void say_end();

  /// Whether read() has bytes without reading the socket.
  [[nodiscard]] bool has_pending() const;

 private:
  [[nodiscard]] Result<Step> outcome(int returned, ErrorKind kind);

  ssl_st* session_;
};

}  // namespace rolter::http
