// The results of one rung in order, where a place is found and filled in next to no time however
// many there are.
#pragma once

#include <cstddef>
#include <vector>

#include "core/search/method.h"

namespace det::search {

class Ranking {
 public:
  struct Entry {
    double metric = 0;  // smaller is better
    TrialIndex trial = 0;
    bool promoted = false;
  };

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Gives how many entries are before the new one.
  size_t insert_after_equals(const Entry &entry);
  size_t insert_before_equals(const Entry &entry);
  void append(const Entry &entry);

  Entry &at(size_t place);
  bool erase(TrialIndex trial);
  void clear();

  template <class Visit>
  void each(Visit visit) const {
    for (const Block &block : blocks_)
      for (const Entry &entry : block) visit(entry);
  }

 private:
  using Block = std::vector<Entry>;  // never empty

  template <class IsBefore>
  size_t insert(const Entry &entry, IsBefore is_before);
  void insert_at(size_t block, size_t place, const Entry &entry);

  std::vector<Block> blocks_;
  size_t size_ = 0;
};

}  // namespace det::search
