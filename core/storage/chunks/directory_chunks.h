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

#include "core/base/log/log.h"
#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/tree.h"

namespace det::storage {

// In the chunks_directory of a tree, and while that is written in a directory of each writer: what
// it brought.
inline constexpr const char *chunk_list_name = "list";

// Of all chunks in the storage `base`.
std::vector<std::string> owners_of_chunks(const Tree &base);

class DirectoryChunks : public Chunks {
 public:
  // Those of the user who owns `aside`, an empty directory of the same file system where chunks are
  // written before they get their name. Made where they are absent. `aside` outlives this.
  static DirectoryChunks open(const Tree &base, const Tree &aside, bool durable);

  // Those of `owner`, to read or to sweep. Nothing where there are none.
  static std::optional<DirectoryChunks> find(const Tree &base, const std::string &owner);

  const Tree &root() const { return root_; }

  // Exactly `size` bytes: Code::not_found where it is not there, Code::corrupt where it has others.
  void get(const ChunkName &name, char *into, size_t size);
  // The bytes that it has; nothing: it is not there.
  std::optional<uint64_t> find(const ChunkName &name);

  std::string owner() const override { return owner_; }
  bool has(const ChunkName &name, unsigned mode) override;
  void put(const ChunkName &name, std::string_view bytes, unsigned mode) override;
  void flush() override;
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

// For one writer of the unfinished checkpoint `tree` in the storage `base`; both outlive the
// result.
ChunkSaver::Begin stage_chunks(const Tree &base, const Tree &tree, bool durable);

// The list of a finished tree. Nothing where no file is in chunks; errors name the tree.
std::optional<ChunkedFiles> read_chunk_list(const Tree &tree);
// Writes or replaces it, as one step.
void write_chunk_list(const Tree &tree, const ChunkedFiles &files);

// What all writers of an unfinished tree brought so far, and the list of the whole if it is there.
ChunkedFiles gather_chunk_lists(const Tree &tree);
// Makes the list of a tree of what its writers brought, who then are no savers any more.
void finish_chunk_lists(const Tree &tree, const ChunkedFiles &files);

// Who has the chunks of a checkpoint. Nothing where no file of it is in chunks.
std::optional<uid_t> chunk_owner_of(const Tree &tree);

// Before a list of chunks goes, or some of them from it: says so to the sweeps of their owner in
// the storage `base`. Where they are another's, he finds them with what he removes himself.
void note_garbage_of(const Tree &base, std::optional<uid_t> owner);

// Sweeps the chunks of this user, unless somebody else is at it. `unfinished` is a directory of
// `base`.
void reclaim_chunks(const Tree &base, const Tree &unfinished, Logger &logger);

}  // namespace det::storage
