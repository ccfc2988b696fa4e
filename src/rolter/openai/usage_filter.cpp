#include "rolter/openai/usage_filter.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "rolter/openai/json_members.h"
#include "rolter/openai/key_table.h"

namespace rolter::openai {
namespace {

enum class ChunkMember : std::uint8_t { kChoices, kUsage, kCount };

constexpr KeyTable kChunkMembers(std::to_array<std::pair<std::string_view, ChunkMember>>({
    {"choices", ChunkMember::kChoices},
    {"usage", ChunkMember::kUsage},
}));

/// The value of an event's only data line; nothing when it has none or several.
std::optional<std::string_view> only_data(std::string_view event) {
  constexpr std::string_view kField = "data:";
  std::optional<std::string_view> data;
  while (!event.empty()) {
    const std::size_t end = event.find_first_of("\r\n");
    std::string_view line = event.substr(0, end);
    event.remove_prefix(end == std::string_view::npos ? event.size() : end + 1);
    if (line.starts_with(kField)) {
      if (data) {
        return std::nullopt;
      }
      data = line.substr(kField.size());
    }
  }
  return data;
}

}  // namespace

void UsageFilter::feed(std::string_view bytes, std::string& out) {
  if (after_cr_ && !bytes.empty()) {
    after_cr_ = false;
    if (bytes.front() == '\n') {
      const bool ended = event_.empty() && !passes_;
      if (ended && !dropped_) {
        out.push_back('\n');
      } else if (!ended) {
        take("\n", out);
      }
      bytes.remove_prefix(1);
    }
  }
  while (!bytes.empty()) {
    const std::size_t stop = bytes.find_first_of("\r\n");
    if (stop == std::string_view::npos) {
      in_line_ = true;
      take(bytes, out);
      return;
    }
    in_line_ = in_line_ || stop > 0;
    const bool is_pair = bytes.substr(stop).starts_with("\r\n");
    after_cr_ = bytes[stop] == '\r' && stop + 1 == bytes.size();
    take(bytes.substr(0, stop + (is_pair ? 2 : 1)), out);
    bytes.remove_prefix(stop + (is_pair ? 2 : 1));
    end_line(out);
  }
}

void UsageFilter::finish(std::string& out) {
  out.append(event_);
  event_.clear();
}

void UsageFilter::take(std::string_view piece, std::string& out) {
  if (!passes_ && event_.size() + piece.size() > kLongest) {
    passes_ = true;
    finish(out);
  }
  (passes_ ? out : event_).append(piece);
}

void UsageFilter::end_line(std::string& out) {
  if (std::exchange(in_line_, false)) {
    if (event_.starts_with(':')) {
      finish(out);
      dropped_ = false;
    }
    return;
  }
  dropped_ = !passes_ && is_usage_alone();
  if (dropped_) {
    event_.clear();
  }
  finish(out);
  passes_ = false;
}

bool UsageFilter::is_usage_alone() {
  if (event_.find("\"usage\"") == std::string::npos) {
    return false;
  }
  const auto data = only_data(event_);
  if (!data) {
    return false;
  }
  json_.assign(*data);
  json_.append(JsonDocument::kPadding, ' ');
  return reads_usage_alone(std::string_view(json_).substr(0, data->size()));
}

bool UsageFilter::reads_usage_alone(std::string_view json) {
  if (document_.read(json) || !document_.is_object(document_.root())) {
    return false;
  }
  const auto members = read_members(document_, document_.root(), kChunkMembers);
  const auto choices = members[ChunkMember::kChoices];
  const auto usage = members[ChunkMember::kUsage];
  if (!choices || !usage || !document_.is_array(*choices) || !document_.is_object(*usage)) {
    return false;
  }
  bool has_choice = false;
  document_.for_each_element(*choices, [&has_choice](JsonDocument::Token) { has_choice = true; });
  return !has_choice;
}

}  // namespace rolter::openai
