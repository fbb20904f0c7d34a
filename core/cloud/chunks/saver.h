// Who is putting chunks into a bucket and has no list yet that a sweep could find: a note,
// "saver-<generation>", that says which process it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/cloud/bucket.h"

namespace det::cloud {

// Shows itself to sweeps as long as it is there.
class Saver {
 public:
  explicit Saver(const Bucket &bucket);  // outlives this
  Saver(const Saver &) = delete;
  Saver &operator=(const Saver &) = delete;
  // Where what it stored has no list that was finished(), a sweep is told that it is garbage.
  ~Saver();

  uint64_t generation() const { return generation_; }  // of nobody else

  // Once its list is stored. Code::conflict where a sweep has given it up: what it counts on may be
  // gone. Whoever is given up notices here, however late it comes, since no sweep removes anything
  // before the note is gone, and reads the lists after that.
  void finished();

 private:
  const Bucket &bucket_;
  const uint64_t generation_;
  bool is_finished_ = false;
};

// Of a note; nothing: it is another.
std::optional<uint64_t> generation_of_saver(const std::string &note);

// Removes the notes of those who are gone: of this machine at once, of others when they are a week
// old by the clock of the store. What they stored is garbage.
void give_up_dead_savers(const Bucket &bucket);

}  // namespace det::cloud
