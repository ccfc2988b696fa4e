#include "rolter/openai/error_event.h"

#include <gtest/gtest.h>

namespace rolter::openai {
namespace {

TEST(ErrorEvent, ends_a_chat_as_the_engine_does) {
  const std::string event =
      "data: {\"error\":{\"message\":\"no\"}}\n"
      "\n"
      "data: [DONE]\n"
      "\n";
  for (const Endpoint endpoint : {Endpoint::kChatCompletions, Endpoint::kCompletions}) {
    EXPECT_EQ(error_event(endpoint, R"({"error":{"message":"no"}})"), event);
  }
}

TEST(ErrorEvent, has_a_name_where_events_have_names) {
  for (const Endpoint endpoint : {Endpoint::kMessages, Endpoint::kResponses}) {
    EXPECT_EQ(error_event(endpoint, R"({"type":"error"})"),
              "event: error\ndata: {\"type\":\"error\"}\n\n");
  }
}

TEST(ErrorEvent, json_of_many_lines_is_one_event) {
  EXPECT_EQ(error_event(Endpoint::kMessages, "{\r\n \"error\": 1\n}"),
            "event: error\ndata: {\ndata:  \"error\": 1\ndata: }\n\n");
}

TEST(NamesError, what_clients_find_an_error_in) {
  EXPECT_TRUE(names_error(R"({"error":{"message":"no"}})"));
  EXPECT_TRUE(names_error(R"( {"a":[1,{}],"error":"no"} )"));
  for (const char* body : {"", "<html>", R"({"error":null})", R"({"message":"no"})", R"(["error"])",
                           R"({"a":{"error":1}})", R"({"error":)"}) {
    EXPECT_FALSE(names_error(body)) << body;
  }
}

}  // namespace
}  // namespace rolter::openai
