#include "rolter/kvcache/index_records.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::kvcache {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::string_view kMagic = "ROLTERIX";
/// Another one for whatever changes how records are read, prompts are written or roots are made.
constexpr std::uint32_t kFormatVersion = 1;

std::uint64_t checksum(RecordTag tag, std::string_view payload) {
  const std::uint64_t seed = std::uint64_t{static_cast<std::uint32_t>(tag)} << 32 | payload.size();
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

std::unexpected<Error> damaged(std::string_view how) {
  return fail(ErrorKind::kInvalidInput, std::string(how));
}

}  // namespace

std::string index_file_head() {
  RecordWriter head;
  head.number32(kFormatVersion);
  return std::string(kMagic) + head.bytes();
}

std::string index_record(RecordTag tag, std::string_view payload) {
  RecordWriter head;
  head.number32(static_cast<std::uint32_t>(tag));
  head.number32(static_cast<std::uint32_t>(payload.size()));
  head.number64(checksum(tag, payload));
  return head.bytes() + std::string(payload);
}

std::string index_file_end(std::uint64_t records) {
  RecordWriter count;
  count.number64(records);
  return index_record(RecordTag::kEnd, count.bytes());
}

Result<std::vector<IndexRecord>> read_index_file(std::string_view file) {
  if (!file.starts_with(kMagic)) {
    return damaged("it is no index of Rolter's");
  }
  RecordReader reader(file.substr(kMagic.size()));
  if (const std::uint32_t version = reader.number32(); version != kFormatVersion) {
    return damaged("it is of version " + std::to_string(version) + " of the format, not " +
                   std::to_string(kFormatVersion));
  }
  std::vector<IndexRecord> records;
  while (!reader.at_end()) {
    IndexRecord record;
    record.tag = RecordTag{reader.number32()};
    const std::uint32_t size = reader.number32();
    const std::uint64_t sum = reader.number64();
    record.payload = reader.bytes(size);
    if (!reader.good()) {
      return damaged("it is cut off");
    }
    if (sum != checksum(record.tag, record.payload)) {
      return damaged("a checksum is wrong");
    }
    if (record.tag == RecordTag::kEnd) {
      const bool whole = RecordReader(record.payload).number64() == records.size();
      if (!whole || !reader.at_end()) {
        return damaged("a part of it is missing");
      }
      return records;
    }
    records.push_back(record);
  }
  return damaged("it is cut off");
}

}  // namespace rolter::kvcache
