// Removes chunks that no checkpoint names any more.
//
// A chunk may be removed only when no list of chunks names it, and nobody who is saving counts on
// it. Nothing is locked and no clock is asked, since those who save and those who sweep may be on
// several machines, and any of them may die at any instant. Instead:
//
//   who saves   1. shows itself: from here on it is one of the savers, until its list is where a
//                  sweep finds it, or until it has failed or what it left is cleared away;
//               2. reads the notes of condemned names;
//               3. looks what is there, counts on it unless it is condemned, and stores the rest:
//                  what is condemned under another name (generation) of the same bytes;
//               4. publishes its list.
//   who sweeps  1. reads all lists, and condemns in a note what is stored and not named in them;
//               2. then writes down who is saving at this moment;
//               3. once none of these is a saver any more, reads all lists again, removes what of
//                  the condemned is still not named, and then the note.
//
// Who counts on a condemned chunk has looked before it was condemned, since he did not see the
// note, and so he is among those waited for; his list is found by the second reading. Who comes
// later sees the note and stays away; the name is free again when the note is gone, and with it the
// chunk, or when it turned out to be in use. The lists of unfinished checkpoints are read before
// those of finished ones, so that none is missed that is published in between. Every step may be
// the last: a note stays for the next sweep, and one without its savers takes those of that moment,
// which is as good. Two sweeps at once come to the same, and one of them gives way.
//
// Where it cannot (in buckets), it may be late with a removal, when the other has taken away the
// note and somebody counts on the chunk again. So there each name is given once, and what turned
// out to be in use stays condemned until it is not: who comes later stores the bytes once more.
//
// That something may have become unnamed is a note too ("garbage"), so that a sweep costs nothing
// where nothing was removed. It is written before a list goes, for who dies in between, and once
// more afterwards where a sweep may take it away in between.
#pragma once

#include <set>
#include <string>

#include "core/base/log/log.h"
#include "core/storage/chunks/chunks.h"

namespace det::storage {

// What a storage knows of its checkpoints. Throws when it cannot know all; then nothing is removed.
class ChunkReferences {
 public:
  virtual ~ChunkReferences() = default;
  virtual std::set<ChunkName> named() = 0;     // in any list, published or not
  virtual std::set<std::string> savers() = 0;  // each by a name that is never used again
};

// Steps 1 to 3 where there is garbage, and 3 for what earlier sweeps have condemned.
void sweep_chunks(Chunks &chunks, ChunkReferences &references, Logger &logger);

bool has_garbage(Chunks &chunks);
void note_garbage(Chunks &chunks);

// What no saver may count on.
std::set<ChunkName> condemned_chunks(Chunks &chunks);

}  // namespace det::storage
