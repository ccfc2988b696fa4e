#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rolter::loadgen {

/// What fake_upstream answers and load expects, byte for byte. Sizes as of a short chat answer of
/// 80 tokens, and of vLLM's stream chunks.

/// The body of a whole answer, 766 bytes.
[[nodiscard]] std::string_view json_answer();

/// Server-sent events without framing: the role chunk, one content chunk, the end.
[[nodiscard]] std::string_view stream_start();
[[nodiscard]] std::string_view stream_chunk();
[[nodiscard]] std::string_view stream_end();

/// The whole body of a stream of `chunks` content chunks.
[[nodiscard]] std::string stream_answer(std::uint64_t chunks);

/// An HTTP response framed by its length.
[[nodiscard]] std::string http_response(std::string_view status, std::string_view content_type,
                                        std::string_view body);
/// A stream's head, and bytes as one HTTP chunk.
[[nodiscard]] std::string_view stream_head();
[[nodiscard]] std::string http_chunk(std::string_view bytes);

}  // namespace rolter::loadgen
