#include "rolter/openai/form_request.h"

#include "rolter/openai/request_fields.h"

namespace rolter::openai {

Result<RequestView> read_form_request(FormReader& form, std::string_view content_type,
                                      std::string_view body) {
  if (const auto begun = form.begin(content_type, body); !begun) {
    return std::unexpected(begun.error());
  }
  RequestView view;
  view.model_is_json = false;
  bool has_model = false;
  auto part = form.next();
  for (; part && part->has_value(); part = form.next()) {
    const auto& [name, value] = **part;
    if (name == "model") {
      if (has_model) {
        return bad_request("the form has two \"model\" fields; send it once", "model");
      }
      has_model = true;
      view.model = value;
      view.model_token = {static_cast<std::size_t>(value.data() - body.data()), value.size()};
    } else if (name == "stream") {
      view.stream = value == "true" || value == "True" || value == "1";
    }
  }
  if (!part) {
    return std::unexpected(part.error());
  }
  if (view.model.empty()) {
    return bad_request(
        "the form's \"model\" field is missing or empty; name the model that shall answer",
        "model");
  }
  return view;
}

}  // namespace rolter::openai
