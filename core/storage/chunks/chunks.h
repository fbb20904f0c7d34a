// Where the chunks of deduplicated checkpoints lie, by name, and beside them the few notes by which
// those who save and those who sweep keep out of each other's way (chunk_sweep.h).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/storage/chunks/chunk_list.h"

namespace det::storage {

// All calls block, may come from any thread, and throw as the rest of the room does.
class Chunks {
 public:
  virtual ~Chunks() = default;

  // Whose chunks these are, as lists name him: a storage may have those of several.
  virtual std::string owner() const = 0;

  // Which of the names of some bytes to look for, and to put them under: none that is condemned.
  virtual ChunkName usable(ChunkName name, const std::set<ChunkName> &condemned) {
    while (condemned.contains(name)) ++name.generation;
    return name;
  }

  // Whether it is there, or was put here. `mode` is that of the file it belongs to: who may read
  // that may read the chunk, where the store keeps such things.
  virtual bool has(const ChunkName &name, unsigned mode) = 0;

  // Whole or not at all; what is there already stays. Others see it once flush() returned.
  virtual void put(const ChunkName &name, std::string_view bytes, unsigned mode) = 0;

  // After this, a power cut takes nothing of what was put, or was found by has().
  virtual void flush() = 0;

  virtual void list(const std::function<void(const ChunkName &)> &each) = 0;
  virtual void remove(const std::vector<ChunkName> &names) = 0;  // absent is fine

  // Whether only one sweep runs at a time, so that a name can be free again after it. Else each
  // name is given once: another sweep may be about to remove what has it.
  virtual bool is_swept_alone() const { return true; }

  // Small texts by name, written durably as a whole.
  virtual std::vector<std::string> notes() = 0;
  virtual std::optional<std::string> note(const std::string &name) = 0;
  virtual void write_note(const std::string &name, std::string_view text) = 0;
  virtual void remove_note(const std::string &name) = 0;  // absent is fine
};

}  // namespace det::storage
