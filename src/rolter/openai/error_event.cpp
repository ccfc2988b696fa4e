#include "rolter/openai/error_event.h"

#include "rolter/openai/json_document.h"

namespace rolter::openai {
namespace {

/// A line of its own for each of the text's; JSON has none but between its tokens.
void append_data(std::string& out, std::string_view text) {
  out += "data: ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      out += "\ndata: ";
    } else if (text[i] != '\r') {
      out += text[i];
    }
  }
  out += "\n\n";
}

}  // namespace

std::string error_event(Endpoint endpoint, std::string_view json) {
  std::string event;
  switch (endpoint) {
    case Endpoint::kMessages:
    case Endpoint::kResponses:
      event = "event: error\n";
      append_data(event, json);
      break;
    default:
      append_data(event, json);
      event += "data: [DONE]\n\n";
  }
  return event;
}

bool names_error(std::string_view body) {
  std::string padded(body);
  padded.append(JsonDocument::kPadding, ' ');
  JsonDocument document;
  if (document.read(std::string_view(padded).substr(0, body.size())) ||
      !document.is_object(document.root())) {
    return false;
  }
  bool found = false;
  document.for_each_member(document.root(), [&](std::string_view key, JsonDocument::Token value) {
    found = found || (key == "error" && !document.is_null(value));
  });
  return found;
}

}  // namespace rolter::openai
