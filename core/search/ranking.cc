#include "core/search/ranking.h"

#include <algorithm>

namespace det::search {

namespace {

constexpr size_t largest_block = 512;

}  // namespace

// `is_before` says for the entries in their order yes, yes, ..., no, no: the new one goes between.
template <class IsBefore>
size_t Ranking::insert(const Entry &entry, IsBefore is_before) {
  size_t before = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Block &block = blocks_[i];
    if (is_before(block.back()) && i + 1 < blocks_.size()) {
      before += block.size();
      continue;
    }
    const auto at = std::partition_point(block.begin(), block.end(), is_before);
    const auto place = static_cast<size_t>(at - block.begin());
    insert_at(i, place, entry);
    return before + place;
  }
  append(entry);
  return 0;
}

size_t Ranking::insert_after_equals(const Entry &entry) {
  return insert(entry, [&](const Entry &other) { return other.metric <= entry.metric; });
}

size_t Ranking::insert_before_equals(const Entry &entry) {
  return insert(entry, [&](const Entry &other) { return other.metric < entry.metric; });
}

void Ranking::append(const Entry &entry) {
  if (blocks_.empty()) blocks_.emplace_back();
  insert_at(blocks_.size() - 1, blocks_.back().size(), entry);
}

void Ranking::insert_at(size_t block, size_t place, const Entry &entry) {
  Block &into = blocks_[block];
  into.insert(into.begin() + static_cast<ptrdiff_t>(place), entry);
  ++size_;
  if (into.size() <= largest_block) return;
  const auto middle = into.begin() + static_cast<ptrdiff_t>(into.size() / 2);
  Block upper(middle, into.end());
  into.erase(middle, into.end());
  blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(block) + 1, std::move(upper));
}

Ranking::Entry &Ranking::at(size_t place) {
  size_t block = 0;
  while (place >= blocks_[block].size()) place -= blocks_[block++].size();
  return blocks_[block][place];
}

bool Ranking::erase(TrialIndex trial) {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    const auto found = std::ranges::find(*block, trial, &Entry::trial);
    if (found == block->end()) continue;
    block->erase(found);
    if (block->empty()) blocks_.erase(block);
    --size_;
    return true;
  }
  return false;
}

void Ranking::clear() {
  blocks_.clear();
  size_ = 0;
}

}  // namespace det::search
