// Chunks as files: `<base>/.chunks/u<uid>/ab/abcd...`, written aside, synced, renamed.
//
// Each user has chunks of his own, named by his number: another's could be put there to spoil a
// checkpoint, would be deleted by another's rules, and could not be read with other permissions.
#pragma once

#include <sys/types.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/storage/chunks/chunk_store.h"
#include "core/storage/tree.h"

namespace det::storage {

std::string owner_of_chunks(uid_t user);
// Of all chunks in the storage `base`.
std::vector<std::string> owners_of_chunks(const Tree &base);

class DirectoryChunks : public ChunkStore {
 public:
  // Those of the user who owns `aside`, an empty directory of the same file system where chunks are
  // written before they get their name. Made where they are absent. `aside` outlives this.
  static DirectoryChunks open(const Tree &base, const Tree &aside, bool durable);

  // Those of `owner`, to read or to sweep. Nothing where there are none.
  static std::optional<DirectoryChunks> find(const Tree &base, const std::string &owner);

  const std::string &owner() const { return owner_; }
  const Tree &root() const { return root_; }

  bool has(const ChunkName &name, unsigned mode) override;
  void put(const ChunkName &name, std::string_view bytes, unsigned mode) override;
  void flush() override;
  void get(const ChunkName &name, char *into, size_t size) override;
  std::optional<uint64_t> find(const ChunkName &name) override;
  void list(const std::function<void(const ChunkName &)> &each) override;
  void remove(const std::vector<ChunkName> &names) override;
  std::vector<std::string> notes() override;
  std::optional<std::string> note(const std::string &name) override;
  void write_note(const std::string &name, std::string_view text) override;
  void remove_note(const std::string &name) override;

 private:
  DirectoryChunks(std::string owner, Tree root, const Tree *aside, bool durable);

  std::vector<Name> names() const;
  void give_place(const ChunkName &name, unsigned mode);
  bool share_with(const std::string &path, unsigned mode) const;

  std::string owner_;
  Tree root_;
  const Tree *aside_;
  bool durable_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  // so that it can be moved
  std::map<ChunkName, unsigned> fresh_;  // put and not flushed, with their modes
  std::array<bool, 256> used_{};         // the directories with chunks that flush() is about
};

}  // namespace det::storage
