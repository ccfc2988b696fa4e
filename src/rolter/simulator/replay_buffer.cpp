#include "rolter/simulator/replay_buffer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace rolter::simulator {
namespace {

constexpr std::uint64_t kEndMarker = std::numeric_limits<std::uint64_t>::max();

std::string big_endian(std::uint64_t value) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xFFU));
  }
  return bytes;
}

/// A big-endian number of any length; more than 64 bits count as the largest.
std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    if (value >> 56U != 0) {
      return std::numeric_limits<std::uint64_t>::max();
    }
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return value;
}

}  // namespace

ReplayBuffer::ReplayBuffer(std::string topic, ReplayFrames shape, std::size_t batches)
    : topic_(std::move(topic)), shape_(shape), limit_(batches) {}

Frames ReplayBuffer::add(std::string payload) {
  Frames message = {topic_, big_endian(next_), payload};
  ++next_;
  payloads_.push_back(std::move(payload));
  if (payloads_.size() > limit_) {
    payloads_.pop_front();
  }
  return message;
}

std::vector<Frames> ReplayBuffer::answer(std::span<const std::string> request) const {
  std::vector<Frames> messages;
  if (request.size() != 3) {
    return messages;
  }
  const std::uint64_t from = number_of(request[2]);
  const std::uint64_t oldest = next_ - payloads_.size();
  for (std::uint64_t seq = std::max(from, oldest); seq < next_; ++seq) {
    messages.push_back(frame(request[0], topic_, big_endian(seq), payloads_[seq - oldest]));
  }
  messages.push_back(frame(request[0], "", big_endian(kEndMarker), ""));
  return messages;
}

Frames ReplayBuffer::frame(std::string_view identity, std::string_view topic, std::string seq,
                           std::string payload) const {
  Frames frames = {std::string(identity), ""};
  if (shape_ == ReplayFrames::kWithTopic) {
    frames.emplace_back(topic);
  }
  frames.push_back(std::move(seq));
  frames.push_back(std::move(payload));
  return frames;
}

}  // namespace rolter::simulator
