#include "rolter/cli/trace_file.h"

#include <zlib.h>

#include <array>
#include <memory>

namespace rolter::cli {

Result<std::string> read_trace_file(const std::string& path) {
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  // zlib reads what is not compressed as it is.
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (!file) {
    return fail(ErrorKind::kNotFound, "cannot open " + path);
  }
  std::string text;
  std::array<char, 65'536> buffer;
  int got = 0;
  while ((got = gzread(file.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) {
    return fail(ErrorKind::kInvalidInput, "cannot read " + path + ": not a whole gzip file");
  }
  return text;
}

}  // namespace rolter::cli
