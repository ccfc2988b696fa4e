#include "rolter/kvcache/prompt_ages.h"

namespace rolter::kvcache {

PromptId PromptAges::add(NodeId end, ReplicaSlot replica) {
  if (to_index(replica) >= replicas_.size()) {
    replicas_.resize(to_index(replica) + 1);
  }
  const PromptId id = prompts_.take();
  Prompt& prompt = prompts_[id];
  prompt.end = end;
  prompt.replica = replica;
  prompt.insertions = 1;
  append(replicas_[to_index(replica)], &Prompt::of_replica, id);
  append(all_, &Prompt::of_all, id);
  return id;
}

void PromptAges::renew(PromptId id) {
  Prompt& prompt = prompts_[id];
  if (prompt.insertions != kUncounted) {
    ++prompt.insertions;
  }
  List& list = replicas_[to_index(prompt.replica)];
  unlink(list, &Prompt::of_replica, id);
  append(list, &Prompt::of_replica, id);
  unlink(all_, &Prompt::of_all, id);
  append(all_, &Prompt::of_all, id);
}

void PromptAges::remove(PromptId id) {
  Prompt& prompt = prompts_[id];
  unlink(replicas_[to_index(prompt.replica)], &Prompt::of_replica, id);
  unlink(all_, &Prompt::of_all, id);
  ++prompt.generation;
  prompts_.give_back(id);
}

PromptId PromptAges::oldest_of(ReplicaSlot replica) const {
  return to_index(replica) < replicas_.size() ? replicas_[to_index(replica)].oldest : kNoId;
}

PromptId PromptAges::next_of_walk() {
  const PromptId next = bookmark_;
  if (next != kNoId) {
    bookmark_ = prompts_[next].of_all.younger;
  }
  return next;
}

std::size_t PromptAges::size_of(ReplicaSlot replica) const {
  return to_index(replica) < replicas_.size() ? replicas_[to_index(replica)].size : 0;
}

void PromptAges::append(List& list, Links Prompt::* links, PromptId id) {
  prompts_[id].*links = {.older = list.youngest, .younger = kNoId};
  if (list.youngest == kNoId) {
    list.oldest = id;
  } else {
    (prompts_[list.youngest].*links).younger = id;
  }
  list.youngest = id;
  ++list.size;
}

void PromptAges::unlink(List& list, Links Prompt::* links, PromptId id) {
  const auto [older, younger] = prompts_[id].*links;
  if (&list == &all_ && id == bookmark_) {
    bookmark_ = younger;
  }
  if (older == kNoId) {
    list.oldest = younger;
  } else {
    (prompts_[older].*links).younger = younger;
  }
  if (younger == kNoId) {
    list.youngest = older;
  } else {
    (prompts_[younger].*links).older = older;
  }
  --list.size;
}

}  // namespace rolter::kvcache
