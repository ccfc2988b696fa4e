#include "rolter/http/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

namespace rolter::http {
namespace {

/// Protocol names as ALPN writes them: each after its length.
constexpr std::array<unsigned char, 9> kHttp11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

std::string newest_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error";
}

// ---- a BIO over a socket that raises no SIGPIPE, unlike OpenSSL's own ----

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int settle(BIO* bio, ssize_t done, int retry) {
  BIO_clear_retry_flags(bio);
  if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
    BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  }
  return static_cast<int>(done);
}

int bio_write(BIO* bio, const char* data, int size) {
  return settle(
      bio,
      ::send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT),
      BIO_FLAGS_WRITE);
}

int bio_read(BIO* bio, char* data, int size) {
  return settle(bio, ::recv(socket_of(bio), data, static_cast<std::size_t>(size), MSG_DONTWAIT),
                BIO_FLAGS_READ);
}

long bio_control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rolter socket");
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
  }();
  return kMethod;
}

// ---- contexts ----

int choose_http11(SSL* /*session*/, const unsigned char** out, unsigned char* out_size,
                  const unsigned char* offered, unsigned int offered_size, void* /*argument*/) {
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kHttp11.data(), kHttp11.size(),
                                          offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::shared_ptr<const TlsContext> make_context(const SSL_METHOD* method) {
  SSL_CTX* context = SSL_CTX_new(method);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  return std::make_shared<const TlsContext>(context);
}

}  // namespace

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_server(const std::string& cert_file,
                                                                 const std::string& key_file) {
  ERR_clear_error();
  auto made = make_context(TLS_server_method());
  SSL_CTX* const context = made->native();
  if (SSL_CTX_use_certificate_chain_file(context, cert_file.c_str()) != 1) {
    return fail(ErrorKind::kInvalidInput,
                "server.tls.cert: cannot use " + cert_file + ": " + newest_error());
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(ErrorKind::kInvalidInput,
                "server.tls.key: cannot use " + key_file + ": " + newest_error());
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return fail(ErrorKind::kInvalidInput, "server.tls.key: " + key_file +
                                              " is not the key of the certificate in " + cert_file);
  }
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(context, choose_http11, nullptr);
  return made;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_client(
    std::span<const std::string> ca_files) {
  ERR_clear_error();
  auto made = make_context(TLS_client_method());
  SSL_CTX* const context = made->native();
  SSL_CTX_set_default_verify_paths(context);
  for (const std::string& file : ca_files) {
    if (SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
      return fail(ErrorKind::kInvalidInput,
                  "ca_bundles: cannot use " + file + ": " + newest_error());
    }
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context, kHttp11.data(), kHttp11.size());
  return made;
}

// ---- sessions ----

namespace {

SSL* make_session(const TlsContext& context, int socket) {
  SSL* session = SSL_new(context.native());
  BIO* bio = BIO_new(socket_method());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session, bio, bio);
  return session;
}

}  // namespace

std::unique_ptr<TlsSession> TlsSession::accepting(const TlsContext& context, int socket) {
  SSL* session = make_session(context, socket);
  SSL_set_accept_state(session);
  return std::make_unique<TlsSession>(session);
}

std::unique_ptr<TlsSession> TlsSession::connecting(const TlsPeer& peer, int socket) {
  SSL* session = make_session(*peer.context, socket);
  SSL_set_connect_state(session);
  SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), peer.name.c_str()) != 1) {
    ERR_clear_error();  // no address, hence a name
    SSL_set1_host(session, peer.name.c_str());
    SSL_set_tlsext_host_name(session, peer.name.c_str());
  }
  return std::make_unique<TlsSession>(session);
}

TlsSession::~TlsSession() {
  SSL_free(session_);
}

Result<TlsSession::Step> TlsSession::outcome(int returned, ErrorKind kind) {
  switch (SSL_get_error(session_, returned)) {
    case SSL_ERROR_NONE:
      return Step{.bytes = returned > 0 ? static_cast<std::size_t>(returned) : 0};
    case SSL_ERROR_WANT_READ:
      return Step{.wait = Wait::kReadable};
    case SSL_ERROR_WANT_WRITE:
      return Step{.wait = Wait::kWritable};
    case SSL_ERROR_ZERO_RETURN:
      return fail(ErrorKind::kConnectionClosed, "connection closed by the peer");
    default:
      break;
  }
  const long verdict = SSL_get_verify_result(session_);
  if (kind == ErrorKind::kConnectFailed && verdict != X509_V_OK) {
    ERR_clear_error();
    return fail(kind, std::string("TLS: the certificate is not accepted: ") +
                          X509_verify_cert_error_string(verdict));
  }
  const bool silent = ERR_peek_error() == 0;
  return fail(kind, silent ? "TLS: the connection was lost" : "TLS: " + newest_error());
}

Result<TlsSession::Step> TlsSession::handshake() {
  ERR_clear_error();
  auto step = outcome(SSL_do_handshake(session_), ErrorKind::kConnectFailed);
  if (step) {
    step->bytes = 0;
  } else {
    step.error().kind = ErrorKind::kConnectFailed;
  }
  return step;
}

Result<TlsSession::Step> TlsSession::read(std::span<char> into) {
  ERR_clear_error();
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  return outcome(SSL_read(session_, into.data(), static_cast<int>(std::min(into.size(), kMost))),
                 ErrorKind::kConnectionReset);
}

Result<TlsSession::Step> TlsSession::write(std::string_view bytes) {
  ERR_clear_error();
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  return outcome(SSL_write(session_, bytes.data(), static_cast<int>(std::min(bytes.size(), kMost))),
                 ErrorKind::kConnectionReset);
}

void TlsSession::say_end() {
  ERR_clear_error();
  SSL_shutdown(session_);
  ERR_clear_error();
}

bool TlsSession::has_pending() const {
  return SSL_has_pending(session_) == 1;
}

}  // namespace rolter::http
