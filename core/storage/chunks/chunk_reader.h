// Puts files together from their chunks, and checks what is stored of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/storage/chunks/chunk_list.h"
#include "core/storage/chunks/chunk_store.h"
#include "core/storage/tree_transfer.h"

namespace det::storage {

// The store of an owner; null where there is none.
using FindChunks = std::function<ChunkStore *(const std::string &owner)>;

// Writes `files` of the checkpoint `stored` into the directories of `target`, with their modes and
// times, and gives back what was written, summed. Code::corrupt, naming the file, where a chunk is
// missing or has another size. What failed half way is removed.
std::vector<HashedFile> assemble_files(const Tree &stored, const ChunkedFiles &files,
                                       const FindChunks &find, const Tree &target);

// The same without writing; without `checksums`, only the chunks' being there and their sizes are
// looked at, and the checksums are 0.
std::vector<HashedFile> check_chunks(const Tree &stored, const ChunkedFiles &files,
                                     const FindChunks &find, bool checksums);

}  // namespace det::storage
