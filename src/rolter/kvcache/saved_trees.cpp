#include "rolter/kvcache/saved_trees.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rolter/kvcache/prompt_walk.h"

namespace rolter::kvcache {
namespace {

constexpr std::size_t kMostPromptBytes = std::size_t{1} << 31;
/// Whose prompt nobody wants back; others may build on it.
constexpr std::uint32_t kNobody = 0xffff'ffff;

std::optional<std::uint32_t> position_of(std::span<const SavedReplica> replicas, ReplicaSlot slot) {
  const auto found = std::ranges::find(replicas, slot, &SavedReplica::slot);
  return found == replicas.end()
             ? std::nullopt
             : std::optional(static_cast<std::uint32_t>(found - replicas.begin()));
}

/// A prompt as it lies in the file.
struct FilePrompt {
  std::uint32_t replica = 0;  // in FileTree::replicas
  std::uint64_t root = 0;
  std::uint32_t base = WalkedPrompt::kNoBase;
  std::uint32_t shared_bytes = 0;
  std::string_view tail;

  [[nodiscard]] std::size_t size() const { return std::size_t{shared_bytes} + tail.size(); }
};

struct FileReplica {
  std::string_view identity;
  std::uint64_t learned_bytes = 0;
  double started_at = 0.0;
};

struct FileTree {
  std::string_view model;
  std::vector<FileReplica> replicas;
  std::vector<FilePrompt> prompts;
};

bool read_tree(std::string_view payload, FileTree& tree) {
  RecordReader reader(payload);
  tree.model = reader.text();
  for (std::uint32_t left = reader.number32(); left > 0 && reader.good(); --left) {
    FileReplica& replica = tree.replicas.emplace_back();
    replica.identity = reader.text();
    replica.learned_bytes = reader.number64();
    replica.started_at = std::bit_cast<double>(reader.number64());
  }
  return reader.good() && reader.at_end();
}

bool read_prompts(std::string_view payload, FileTree& tree) {
  RecordReader reader(payload);
  while (!reader.at_end() && reader.good()) {
    FilePrompt prompt;
    prompt.replica = reader.number32();
    prompt.root = reader.number64();
    prompt.base = reader.number32();
    prompt.shared_bytes = reader.number32();
    prompt.tail = reader.text();
    const bool has_base = prompt.base != WalkedPrompt::kNoBase;
    if ((prompt.replica >= tree.replicas.size() && prompt.replica != kNobody) ||
        prompt.size() > kMostPromptBytes || prompt.size() == 0 ||
        (has_base && (prompt.base >= tree.prompts.size() ||
                      prompt.shared_bytes > tree.prompts[prompt.base].size())) ||
        (!has_base && prompt.shared_bytes != 0)) {
      return false;
    }
    if (has_base) {
      prompt.root = tree.prompts[prompt.base].root;
    }
    tree.prompts.push_back(prompt);
  }
  return reader.good();
}

Result<std::vector<FileTree>> read_trees(std::span<const IndexRecord> records) {
  std::vector<FileTree> trees;
  for (const IndexRecord& record : records) {
    bool good = true;
    if (record.tag == RecordTag::kTree) {
      good = read_tree(record.payload, trees.emplace_back());
    } else if (record.tag == RecordTag::kPrompts) {
      good = !trees.empty() && read_prompts(record.payload, trees.back());
    }
    if (!good) {
      return fail(ErrorKind::kInvalidInput, "a record contradicts itself");
    }
  }
  return trees;
}

/// Writes the whole text of a prompt: the tails of its bases end where it shares no more with them.
void spell(const FileTree& tree, std::uint32_t number, std::string& text) {
  std::size_t wanted = tree.prompts[number].size();
  text.resize(wanted);
  while (wanted > 0) {
    const FilePrompt& prompt = tree.prompts[number];
    if (wanted > prompt.shared_bytes) {
      prompt.tail.copy(text.data() + prompt.shared_bytes, wanted - prompt.shared_bytes);
      wanted = prompt.shared_bytes;
    }
    number = prompt.base;
  }
}

class TreeSaver {
 public:
  TreeSaver(std::span<const SavedReplica> replicas, const TakeRecord& take)
      : replicas_(replicas), take_(take) {}

  bool save(const std::string& model, PrefixTree& tree) {
    payload_.clear();
    payload_.text(model);
    payload_.number32(static_cast<std::uint32_t>(replicas_.size()));
    for (const SavedReplica& replica : replicas_) {
      payload_.text(replica.identity);
      payload_.number64(tree.learned_bytes(replica.slot));
      payload_.number64(std::bit_cast<std::uint64_t>(replica.started_at));
    }
    if (!take_(RecordTag::kTree, payload_.bytes())) {
      return false;
    }
    PromptWalk walk(tree);
    std::vector<WalkedPrompt> batch;
    for (walk.next(batch); !batch.empty(); walk.next(batch)) {
      payload_.clear();
      for (const WalkedPrompt& prompt : batch) {
        add(prompt);
      }
      if (!take_(RecordTag::kPrompts, payload_.bytes())) {
        return false;
      }
    }
    return true;
  }

 private:
  void add(const WalkedPrompt& prompt) {
    payload_.number32(position_of(replicas_, prompt.replica).value_or(kNobody));
    payload_.number64(prompt.root);
    payload_.number32(prompt.base);
    payload_.number32(prompt.shared_bytes);
    payload_.text(prompt.tail);
  }

  std::span<const SavedReplica> replicas_;
  const TakeRecord& take_;
  RecordWriter payload_;
};

}  // namespace

bool save_trees(const PrefixTrees& trees, std::span<const SavedReplica> replicas,
                const TakeRecord& take) {
  TreeSaver saver(replicas, take);
  for (const PrefixTrees::Named& named : trees.stats()) {
    const auto tree = trees.find(named.model);
    if (tree && !replicas.empty() && !saver.save(named.model, *tree)) {
      return false;
    }
  }
  return true;
}

Result<LoadedTrees> load_trees(
    std::span<const IndexRecord> records, const PrefixTrees& trees,
    std::span<const SavedReplica> replicas,
    const std::function<void(const SavedReplica& replica, double started_at)>& known) {
  auto read = read_trees(records);
  if (!read) {
    return std::unexpected(std::move(read.error()));
  }
  LoadedTrees loaded;
  std::string text;
  for (const FileTree& tree : *read) {
    const auto into = trees.find(tree.model);
    std::vector<const SavedReplica*> same(tree.replicas.size(), nullptr);
    for (std::size_t i = 0; i < same.size() && into; ++i) {
      const auto found =
          std::ranges::find(replicas, tree.replicas[i].identity, &SavedReplica::identity);
      if (found != replicas.end()) {
        same[i] = &*found;
        into->believe(found->slot, tree.replicas[i].learned_bytes);
        known(*found, tree.replicas[i].started_at);
      }
    }
    for (std::uint32_t i = 0; i < tree.prompts.size(); ++i) {
      const std::uint32_t whose = tree.prompts[i].replica;
      const SavedReplica* const replica = whose == kNobody ? nullptr : same[whose];
      if (replica == nullptr) {
        ++loaded.strange;
        continue;
      }
      spell(tree, i, text);
      (void)into->insert(tree.prompts[i].root, text, replica->slot);
      ++loaded.prompts;
    }
  }
  return loaded;
}

}  // namespace rolter::kvcache
