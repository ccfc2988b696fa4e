#include "rolter/http/input_buffer.h"

#include <algorithm>
#include <cstring>

namespace rolter::http {

void InputBuffer::append(std::string_view bytes) {
  reserve(end_ - begin_ + bytes.size());
  std::memcpy(data_.get() + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
}

void InputBuffer::consume(std::size_t bytes) {
  begin_ += bytes;
  if (begin_ == end_) {
    begin_ = end_ = 0;
  }
}

void InputBuffer::erase(std::size_t offset, std::size_t length) {
  char* at = data_.get() + begin_ + offset;
  std::memmove(at, at + length, end_ - begin_ - offset - length);
  end_ -= length;
}

void InputBuffer::reserve(std::size_t bytes) {
  if (capacity_ - begin_ >= bytes) {
    return;
  }
  if (capacity_ >= bytes) {
    std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    return;
  }
  reallocate(std::max(bytes, kIdleBytes));
}

void InputBuffer::shrink() {
  const std::size_t wanted = std::max(end_ - begin_, kIdleBytes);
  if (capacity_ > wanted) {
    reallocate(wanted);
  }
}

void InputBuffer::release() {
  data_.reset();
  capacity_ = begin_ = end_ = 0;
}

void InputBuffer::reallocate(std::size_t capacity) {
  auto data = std::make_unique_for_overwrite<char[]>(capacity);
  if (end_ > begin_) {
    std::memcpy(data.get(), data_.get() + begin_, end_ - begin_);
  }
  data_ = std::move(data);
  end_ -= begin_;
  begin_ = 0;
  capacity_ = capacity;
}

}  // namespace rolter::http
