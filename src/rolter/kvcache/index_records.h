#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/error.h"

namespace rolter::kvcache {

/// What a record of an index file holds. A reader passes over tags it does not know, so that a part
/// can be added without another version of the format.
enum class RecordTag : std::uint32_t {
  kEnd = 0x20444e45,      // "END ": the file is whole
  kTree = 0x45455254,     // "TREE": one prefix tree and its replicas
  kPrompts = 0x544d5250,  // "PRMT": some of the prompts of the last tree
  kChains = 0x534e4843,   // "CHNS": some learned chains
};

/// An index file: a magic word, the version of the format, then records, each with its length and
/// the XXH3 of it all, and a last one that says how many came before. Numbers are little-endian.
struct IndexRecord {
  RecordTag tag{};
  std::string_view payload;
};

inline constexpr std::size_t kMostRecordBytes = std::size_t{1} << 30;

/// What a file begins with.
[[nodiscard]] std::string index_file_head();
/// The bytes of one record. `payload` of at most kMostRecordBytes.
[[nodiscard]] std::string index_record(RecordTag tag, std::string_view payload);
/// The last record of a file with `records` others.
[[nodiscard]] std::string index_file_end(std::uint64_t records);

/// The records of a whole, undamaged file, without the last one; they point into it. The error says
/// what is wrong with it: another version, cut off, a checksum.
[[nodiscard]] Result<std::vector<IndexRecord>> read_index_file(std::string_view file);

/// Appends numbers and texts to a record's payload.
class RecordWriter {
 public:
  void number32(std::uint32_t value) { append(&value, sizeof value); }
  void number64(std::uint64_t value) { append(&value, sizeof value); }
  void text(std::string_view value) {
    number32(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void append(const void* value, std::size_t size) {
    bytes_.append(static_cast<const char*>(value), size);
  }
  std::string bytes_;
};

/// Reads them back. What is not there is 0 or "", and good() false from then on.
class RecordReader {
 public:
  explicit RecordReader(std::string_view payload) : left_(payload) {}

  [[nodiscard]] std::uint32_t number32() { return number<std::uint32_t>(); }
  [[nodiscard]] std::uint64_t number64() { return number<std::uint64_t>(); }
  [[nodiscard]] std::string_view text() { return take(number32()); }
  [[nodiscard]] std::string_view bytes(std::size_t size) { return take(size); }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

 private:
  template <typename Number>
  Number number() {
    Number value = 0;
    const std::string_view bytes = take(sizeof value);
    bytes.copy(reinterpret_cast<char*>(&value), bytes.size());
    return value;
  }

  std::string_view take(std::size_t size) {
    if (!good_ || size > left_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  std::string_view left_;
  bool good_ = true;
};

}  // namespace rolter::kvcache
