#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "rolter/kvcache/prefix_tree.h"

namespace rolter::kvcache {

/// The oracle of the prefix tree: what its header promises, done the plain way. One byte trie per
/// root, uncompressed, with a count of live prompts per replica at every vertex; the live prompts
/// themselves in maps. Nodes and marks are derived from the vertices by the header's definition.
class NaivePrefixIndex {
 public:
  static constexpr std::uint32_t kReplicas = 6;

  NaivePrefixIndex(PrefixTreeLimits limits, std::size_t max_edge)
      : limits_(limits), max_edge_(max_edge) {}

  /// Names the life of a prompt; 0 = nothing inserted.
  using Life = std::uint64_t;

  Life insert(std::uint64_t root, std::string text, std::uint32_t replica) {
    while (!fits_alone(text.size())) {
      text.pop_back();
    }
    if (text.empty()) {
      return 0;
    }
    Key key{root, replica, text};
    if (const auto known = live_.find(key); known != live_.end()) {
      ++known->second.insertions;
      renew(known->second, key);
      return known->second.life;
    }
    add(key);
    while (is_over(replica) && prompts_of(replica) > 1) {
      evict(oldest_of(replica));
    }
    while (is_over(replica)) {
      remove(key);
      std::get<std::string>(key).pop_back();
      add(key);
    }
    const Life life = live_.at(key).life;
    keep_ceilings();
    return life;
  }

  void undo(Life life) {
    const auto found = std::ranges::find_if(
        live_, [life](const auto& entry) { return entry.second.life == life; });
    if (found != live_.end() && --found->second.insertions == 0) {
      remove(Key(found->first));
    }
  }

  void remove_replica(std::uint32_t replica) {
    while (prompts_of(replica) > 0) {
      remove(oldest_of(replica));
    }
  }

  void set_limits(PrefixTreeLimits limits) {
    limits_ = limits;
    keep_ceilings();
  }

  /// By the trie.
  [[nodiscard]] std::size_t match(std::uint64_t root, std::string_view text,
                                  std::uint32_t replica) const {
    const auto found = roots_.find(root);
    if (found == roots_.end()) {
      return 0;
    }
    const Vertex* vertex = &found->second;
    std::size_t matched = 0;
    for (const char byte : text) {
      const auto child = vertex->children.find(byte);
      if (child == vertex->children.end() || child->second->through[replica] == 0) {
        break;
      }
      vertex = child->second.get();
      ++matched;
    }
    return matched;
  }

  /// By comparing with every live prompt.
  [[nodiscard]] std::size_t match_by_prompts(std::uint64_t root, std::string_view text,
                                             std::uint32_t replica) const {
    std::size_t best = 0;
    for (const auto& [key, prompt] : live_) {
      const auto& [its_root, its_replica, its_text] = key;
      if (its_root == root && its_replica == replica) {
        const auto parted = std::ranges::mismatch(text, its_text);
        best = std::max(best, static_cast<std::size_t>(parted.in1 - text.begin()));
      }
    }
    return best;
  }

  [[nodiscard]] std::size_t held_bytes(std::uint32_t replica) const { return bytes_[replica]; }
  [[nodiscard]] std::size_t held_nodes(std::uint32_t replica) const { return marks_[replica]; }

  [[nodiscard]] PrefixTreeStats stats() const {
    PrefixTreeStats stats{.nodes = nodes_,
                          .roots = roots_.size(),
                          .prompts = live_.size(),
                          .text_bytes = vertices_,
                          .evicted_prompts = evicted_};
    for (const std::size_t marks : marks_) {
      stats.marks += marks;
    }
    stats.index_bytes = stats.text_bytes + stats.nodes * kPrefixTreeCosts.node +
                        stats.marks * kPrefixTreeCosts.mark + stats.roots * kPrefixTreeCosts.root +
                        stats.prompts * kPrefixTreeCosts.prompt;
    return stats;
  }

 private:
  using Key = std::tuple<std::uint64_t, std::uint32_t, std::string>;  // root, replica, text

  struct Prompt {
    Life life = 0;
    std::uint64_t age = 0;  // greater = younger
    std::size_t insertions = 1;
  };

  struct Vertex {
    std::size_t depth = 0;
    std::map<char, std::unique_ptr<Vertex>> children;
    std::array<std::size_t, kReplicas> through{};  // live prompts that pass or end here
    std::size_t ends = 0;
  };

  [[nodiscard]] bool fits_alone(std::size_t length) const {
    const std::size_t nodes = (length + max_edge_ - 1) / max_edge_;
    const std::size_t bytes = length == 0
                                  ? 0
                                  : length + kPrefixTreeCosts.root + kPrefixTreeCosts.prompt +
                                        nodes * (kPrefixTreeCosts.node + kPrefixTreeCosts.mark);
    return (limits_.max_nodes_per_replica == 0 || nodes <= limits_.max_nodes_per_replica) &&
           (limits_.max_index_bytes == 0 || bytes <= limits_.max_index_bytes);
  }

  [[nodiscard]] bool is_over(std::uint32_t replica) const {
    return limits_.max_nodes_per_replica != 0 && marks_[replica] > limits_.max_nodes_per_replica;
  }

  void keep_ceilings() {
    for (std::uint32_t replica = 0; replica < kReplicas; ++replica) {
      while (is_over(replica)) {
        evict(oldest_of(replica));
      }
    }
    while (limits_.max_index_bytes != 0 && stats().index_bytes > limits_.max_index_bytes) {
      evict(by_age_.begin()->second);
    }
  }

  [[nodiscard]] std::size_t prompts_of(std::uint32_t replica) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        live_, [replica](const auto& entry) { return std::get<1>(entry.first) == replica; }));
  }

  [[nodiscard]] Key oldest_of(std::uint32_t replica) const {
    return std::ranges::find_if(
               by_age_,
               [replica](const auto& entry) { return std::get<1>(entry.second) == replica; })
        ->second;
  }

  void renew(Prompt& prompt, const Key& key) {
    by_age_.erase(prompt.age);
    prompt.age = ++clock_;
    by_age_.emplace(prompt.age, key);
  }

  void add(const Key& key) {
    Prompt& prompt = live_[key];
    prompt.life = ++lives_;
    prompt.age = ++clock_;
    by_age_.emplace(prompt.age, key);
    change_path(key, +1);
  }

  void evict(const Key& key) {
    remove(Key(key));
    ++evicted_;
  }

  void remove(Key key) {
    by_age_.erase(live_.at(key).age);
    live_.erase(key);
    change_path(key, -1);
  }

  /// Adds the prompt to the trie or takes it away, vertex by vertex.
  void change_path(const Key& key, int by) {
    const auto& [root, replica, text] = key;
    std::vector<Vertex*> path{&roots_[root]};
    for (const char byte : text) {
      count(*path.back(), -1);
      auto& child = path.back()->children[byte];
      if (child == nullptr) {
        child = std::make_unique<Vertex>();
        child->depth = path.size();
      }
      path.push_back(child.get());
    }
    count(*path.back(), -1);
    for (Vertex* vertex : path) {
      vertex->through[replica] += static_cast<std::size_t>(by);
    }
    path.back()->ends += static_cast<std::size_t>(by);
    for (std::size_t i = path.size() - 1; i > 0; --i) {
      if (is_unused(*path[i])) {
        path[i - 1]->children.erase(text[i - 1]);
        path.pop_back();
      }
    }
    for (Vertex* vertex : path) {
      count(*vertex, +1);
    }
    if (is_unused(*path.front())) {
      roots_.erase(root);
    }
  }

  static bool is_unused(const Vertex& vertex) {
    return std::ranges::all_of(vertex.through, [](std::size_t n) { return n == 0; });
  }

  /// Adds (or takes away) what one vertex contributes to the sums.
  void count(const Vertex& vertex, int by) {
    if (vertex.depth == 0 || is_unused(vertex)) {
      return;
    }
    const bool is_node =
        vertex.ends > 0 || vertex.children.size() > 1 || vertex.depth % max_edge_ == 0;
    vertices_ += static_cast<std::size_t>(by);
    nodes_ += is_node ? static_cast<std::size_t>(by) : 0;
    for (std::uint32_t replica = 0; replica < kReplicas; ++replica) {
      if (vertex.through[replica] > 0) {
        bytes_[replica] += static_cast<std::size_t>(by);
        marks_[replica] += is_node ? static_cast<std::size_t>(by) : 0;
      }
    }
  }

  PrefixTreeLimits limits_;
  std::size_t max_edge_;
  std::map<std::uint64_t, Vertex> roots_;
  std::map<Key, Prompt> live_;
  std::map<std::uint64_t, Key> by_age_;
  std::uint64_t clock_ = 0;
  Life lives_ = 0;
  std::size_t vertices_ = 0;
  std::size_t nodes_ = 0;
  std::array<std::size_t, kReplicas> bytes_{};
  std::array<std::size_t, kReplicas> marks_{};
  std::uint64_t evicted_ = 0;
};

}  // namespace rolter::kvcache
