#include "rolter/proxy/stored_answers.h"

#include <gtest/gtest.h>

#include <string>

namespace rolter::proxy {
namespace {

TEST(StoredAnswers, the_id_is_found_in_a_document_and_in_a_streams_first_event) {
  EXPECT_EQ(stored_answer_id(R"({"id":"resp_ab-1","object":"response"})"), "resp_ab-1");
  EXPECT_EQ(stored_answer_id("{\"object\": \"response\", \"id\": \"resp_1\"}"), "resp_1");
  EXPECT_EQ(stored_answer_id("5c\r\nevent: response.created\ndata: "
                             R"({"response":{"id":"resp_2","status":"queued"}})"),
            "resp_2");
}

TEST(StoredAnswers, other_ids_and_texts_that_quote_one_are_none) {
  EXPECT_EQ(stored_answer_id(R"({"id":"msg_1","text":"\"id\":\"resp_9\""})"), "");
  EXPECT_EQ(stored_answer_id(R"({"id":"resp_cut)"), "");
  EXPECT_EQ(stored_answer_id("{\"id\":\"resp_" + std::string(200, 'x') + "\"}"), "");
  EXPECT_EQ(stored_answer_id(""), "");
}

TEST(StoredAnswers, paths_of_one_answer_name_it) {
  EXPECT_EQ(stored_answer_of_path("/v1/responses/resp_1"), "resp_1");
  EXPECT_EQ(stored_answer_of_path("/v1/responses/resp_1/cancel"), "resp_1");
  EXPECT_EQ(stored_answer_of_path("/v1/responses"), "");
  EXPECT_EQ(stored_answer_of_path("/v1/responses/"), "");
  EXPECT_EQ(stored_answer_of_path("/v1/responses/%2e%2e"), "");
}

TEST(StoredAnswers, the_oldest_is_forgotten_first) {
  StoredAnswers answers;
  for (std::size_t i = 0; i <= StoredAnswers::kMost; ++i) {
    answers.remember("resp_" + std::to_string(i), ReplicaSlot{7}, TimePoint{});
  }
  EXPECT_FALSE(answers.find("resp_0", TimePoint{}));
  EXPECT_EQ(answers.find("resp_1", TimePoint{}), ReplicaSlot{7});
}

}  // namespace
}  // namespace rolter::proxy
