#include "rolter/openai/model_splice.h"

#include <utility>

#include "rolter/openai/error_body.h"

namespace rolter::openai {
namespace {

/// What is to become of the model's name; nothing when it is right already.
BodyEdit model_edit(const RequestView& view, std::string_view model, std::string& written) {
  if (model == view.model) {
    return {};
  }
  written.clear();
  if (view.model_is_json) {
    append_json_string(written, model);
  } else {
    written.append(model);
  }
  return {view.model_token, written};
}

/// The bytes from `from` to the edit, whose end becomes the next `from`.
std::string_view up_to(const BodyEdit& edit, std::string_view body, std::size_t& from) {
  const std::string_view before = body.substr(from, edit.at.offset - from);
  from = edit.at.offset + edit.at.length;
  return before;
}

}  // namespace

SplicedBody splice_model(std::string_view body, const RequestView& view, std::string_view model,
                         std::string& written) {
  const BodyEdit edit = model_edit(view, model, written);
  if (edit.text.empty()) {
    return {{body}};
  }
  std::size_t from = 0;
  const std::string_view before = up_to(edit, body, from);
  return {{before, edit.text, body.substr(from)}};
}

SplicedBody splice_model_and_usage(std::string_view body, const RequestView& view,
                                   std::string_view model, std::string& written) {
  BodyEdit first = model_edit(view, model, written);
  BodyEdit second = view.asking_usage;
  if (second.text.empty()) {
    return splice_model(body, view, model, written);
  }
  if (!first.text.empty() && second.at.offset < first.at.offset) {
    std::swap(first, second);
  }
  std::size_t from = 0;
  const std::string_view before =
      first.text.empty() ? std::string_view() : up_to(first, body, from);
  const std::string_view between = up_to(second, body, from);
  return {{before, first.text, between, second.text, body.substr(from)}};
}

}  // namespace rolter::openai
