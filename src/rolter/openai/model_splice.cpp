#include "rolter/openai/model_splice.h"

#include "rolter/openai/error_body.h"

namespace rolter::openai {

SplicedBody splice_model(std::string_view body, const RequestView& view, std::string_view model,
                         std::string& written) {
  if (model == view.model) {
    return {{body, {}, {}}};
  }
  written.clear();
  if (view.model_is_json) {
    append_json_string(written, model);
  } else {
    written.append(model);
  }
  const ByteRange token = view.model_token;
  return {{body.substr(0, token.offset), written, body.substr(token.offset + token.length)}};
}

}  // namespace rolter::openai
