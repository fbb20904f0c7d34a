// What the directories of several ranks have in common, and how the work on one is shared out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/storage/storage.h"

namespace det::context {

using RanksByName = std::map<std::string, std::vector<int>>;  // ranks ascending

// The names that more than one rank brings, at least one of them as a file. A directory's name has
// no '/' at the end here; what a file lies in is a directory too.
RanksByName shared_names(const std::vector<storage::Resources> &listings);

// Shared names, by what they mean for a checkpoint of all the listings.
struct SharedFiles {
  RanksByName conflicting;  // a directory here and a file there, or different files
  RanksByName undecided;    // files of one size: their checksums tell
  RanksByName equal;        // the same file everywhere
};

// `directories` names, for each rank, what it listed: ranks with the same one bring the same files.
SharedFiles compare_listings(const std::vector<storage::Resources> &listings,
                             const std::vector<std::string> &directories);

// Leaves nothing undecided; each rank gave checksums of what it brings of the undecided.
void decide(SharedFiles &shared, const std::vector<std::map<std::string, uint64_t>> &checksums);

// What `rank` stores of its listing: a file that others bring too is left to the lowest.
std::vector<std::string> paths_to_store(int rank, const storage::Resources &listing,
                                        const RanksByName &equal);

// The files for each of `ranks` ranks, about the same bytes for all.
std::vector<std::vector<std::string>> share_out(const storage::Resources &files, size_t ranks);

}  // namespace det::context
