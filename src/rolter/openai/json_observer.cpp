#include <memory>

#include "rolter/openai/answer_reader.h"
#include "rolter/openai/stream_observer.h"

namespace rolter::openai {
namespace {

class JsonObserver final : public AnswerObserver {
 public:
  JsonObserver(AnswerFamily family, ObserverOptions options)
      : family_(family), reader_(family, AnswerForm::kBody, options) {}

  void feed(std::string_view bytes) override {
    if (reader_.saw_end()) {
      return;
    }
    reader_.feed(bytes);
    if (family_ == AnswerFamily::kOther && !bytes.empty()) {
      reader_.note_content();
    }
    if (reader_.complete()) {
      reader_.note_end();
    }
  }

  [[nodiscard]] bool saw_content() const override { return reader_.saw_content(); }
  [[nodiscard]] bool saw_end() const override { return reader_.saw_end(); }
  [[nodiscard]] bool is_empty_abort() const override { return reader_.is_empty_abort(); }
  [[nodiscard]] std::optional<Usage> usage() const override { return reader_.usage(); }
  [[nodiscard]] std::string_view response_id() const override { return reader_.response_id(); }
  [[nodiscard]] std::string_view reply_text() const override { return reader_.reply_text(); }

 private:
  AnswerFamily family_;
  AnswerReader reader_;
};

}  // namespace

std::unique_ptr<AnswerObserver> make_json_observer(Endpoint endpoint, ObserverOptions options) {
  return std::make_unique<JsonObserver>(family_of(endpoint), options);
}

}  // namespace rolter::openai
