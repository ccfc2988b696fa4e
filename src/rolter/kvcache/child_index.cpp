#include "rolter/kvcache/child_index.h"

namespace rolter::kvcache {

ChildIndex::ChildIndex(const NodeSlab& nodes) : nodes_(nodes) {
  sets_.reserve(kSets);
  for (std::size_t i = 0; i < kSets; ++i) {
    sets_.emplace_back(0, Hash{&nodes_}, Equal{&nodes_});
  }
}

std::uint64_t ChildIndex::hash_of(Key key) {
  // The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection, so that keys collide only
  // where the sets cut the hash.
  std::uint64_t x = (std::uint64_t{key.parent} << 8) | static_cast<unsigned char>(key.first);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

NodeId ChildIndex::find(NodeId parent, char first) const {
  const Key key{parent, first};
  const Set& set = set_for(key);
  const auto found = set.find(key);
  return found == set.end() ? kNoId : *found;
}

void ChildIndex::insert(NodeId child) {
  set_for(key_of(nodes_, child)).insert(child);
}

void ChildIndex::erase(NodeId child) {
  set_for(key_of(nodes_, child)).erase(child);
}

}  // namespace rolter::kvcache
