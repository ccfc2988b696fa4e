#include "rolter/admin/reply.h"

#include <fmt/format.h>

#include "rolter/openai/error_body.h"

namespace rolter::admin {

Reply refusal(int status, std::string_view code, std::string_view message) {
  Reply reply{.status = status};
  reply.body = openai::error_body(openai::ApiShape::kOpenAi,
                                  {.status = status,
                                   .type = status >= 500 ? "server_error" : "invalid_request_error",
                                   .code = code,
                                   .param = {},
                                   .message = message},
                                  {});
  return reply;
}

Reply method_not_allowed(std::string_view allowed) {
  Reply reply = refusal(405, "method_not_allowed", fmt::format("use {}", allowed));
  reply.extra_fields = fmt::format("Allow: {}\r\n", allowed);
  return reply;
}

}  // namespace rolter::admin
