#include "rolter/cluster/outcome.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rolter::cluster {
namespace {

constexpr std::string_view kVllmQueueFull =
    R"({"error":{"message":"The engine is currently busy and cannot accept new requests. Please )"
    R"(try again later or on a different instance.","type":"Service Unavailable","param":null,)"
    R"("code":503}})";

TEST(Outcome, what_the_client_did_wrong_never_counts) {
  for (const int status : {400, 404, 405, 409, 413, 414, 415, 422, 431, 499}) {
    EXPECT_EQ(classify_status(status, ""), Outcome::kClientFault) << status;
    EXPECT_EQ(verdict(classify_status(status, "")), Verdict::kNeither) << status;
    EXPECT_FALSE(worth_retrying(classify_status(status, ""))) << status;
  }
  EXPECT_EQ(verdict(Outcome::kClientGone), Verdict::kNeither);
  EXPECT_FALSE(worth_retrying(Outcome::kClientGone));
}

TEST(Outcome, a_rejected_key_is_neither_failure_nor_worth_another_try) {
  for (const int status : {401, 402, 403}) {
    EXPECT_EQ(classify_status(status, ""), Outcome::kKeyRejected) << status;
  }
  EXPECT_EQ(verdict(Outcome::kKeyRejected), Verdict::kNeither);
}

TEST(Outcome, a_full_replica_is_neither_failure_nor_success) {
  EXPECT_EQ(classify_status(429, ""), Outcome::kRateLimited);
  EXPECT_EQ(classify_status(503, kVllmQueueFull), Outcome::kQueueFull);
  EXPECT_EQ(classify_status(503, R"({"message":"The request Queue is Full."})"),
            Outcome::kQueueFull);
  EXPECT_EQ(verdict(Outcome::kRateLimited), Verdict::kNeither);
  EXPECT_EQ(verdict(Outcome::kQueueFull), Verdict::kNeither);
  EXPECT_TRUE(worth_retrying(Outcome::kRateLimited));
  EXPECT_TRUE(worth_retrying(Outcome::kQueueFull));
}

TEST(Outcome, any_other_5xx_is_a_failure) {
  for (const int status : {500, 502, 503, 504, 520, 529}) {
    EXPECT_EQ(classify_status(status, "no healthy upstream"), Outcome::kServerError) << status;
  }
  EXPECT_EQ(classify_status(501, ""), Outcome::kClientFault);
}

TEST(Outcome, success_is_anything_below_400) {
  for (const int status : {200, 201, 204, 304, 307}) {
    EXPECT_EQ(classify_status(status, ""), Outcome::kServed) << status;
  }
}

TEST(Outcome, a_stream_that_dies_after_its_first_byte_is_a_failure_that_cannot_be_retried) {
  const Error reset{ErrorKind::kConnectionReset, ErrorSource::kUpstream, Retry::kElsewhere, ""};
  const Outcome outcome = classify_error(reset, Progress::kBodyStarted);
  EXPECT_EQ(outcome, Outcome::kBrokenStream);
  EXPECT_EQ(verdict(outcome), Verdict::kFailure);
  EXPECT_FALSE(worth_retrying(outcome));
}

TEST(Outcome, errors_are_told_apart_by_whose_they_are) {
  const auto outcome = [](ErrorKind kind, ErrorSource source, Retry retry) {
    return classify_error(Error{kind, source, retry, ""}, Progress::kNothingRelayed);
  };
  const auto up = ErrorSource::kUpstream;
  EXPECT_EQ(outcome(ErrorKind::kConnectRefused, up, Retry::kElsewhere), Outcome::kConnectRefused);
  EXPECT_EQ(outcome(ErrorKind::kConnectFailed, up, Retry::kElsewhere), Outcome::kConnectFailed);
  EXPECT_EQ(outcome(ErrorKind::kConnectionReset, up, Retry::kElsewhere), Outcome::kReset);
  EXPECT_EQ(outcome(ErrorKind::kProtocol, up, Retry::kElsewhere), Outcome::kReset);
  EXPECT_EQ(outcome(ErrorKind::kTimeout, up, Retry::kElsewhere), Outcome::kTimeout);
  EXPECT_EQ(outcome(ErrorKind::kConnectionReset, ErrorSource::kClient, Retry::kNo),
            Outcome::kClientGone);
  EXPECT_EQ(outcome(ErrorKind::kTimeout, ErrorSource::kClient, Retry::kNo), Outcome::kClientGone);
  EXPECT_EQ(outcome(ErrorKind::kCancelled, ErrorSource::kGateway, Retry::kNo), Outcome::kAbandoned);
  EXPECT_EQ(outcome(ErrorKind::kDenied, ErrorSource::kGateway, Retry::kNo), Outcome::kConnectFailed)
      << "another target may be allowed";
}

TEST(Outcome, a_reused_connection_found_closed_is_nobodys_failure) {
  const Error stale{ErrorKind::kConnectionReset, ErrorSource::kUpstream, Retry::kFreshConnection,
                    ""};
  EXPECT_EQ(classify_error(stale, Progress::kNothingRelayed), Outcome::kStaleConnection);
  EXPECT_EQ(verdict(Outcome::kStaleConnection), Verdict::kNeither);
}

TEST(Outcome, every_outcome_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    names.emplace(to_string(static_cast<Outcome>(i)));
  }
  EXPECT_EQ(names.size(), kOutcomeCount);
}

}  // namespace
}  // namespace rolter::cluster
