// What the ranks bring to a checkpoint of all of them, settled before anything is stored, and how
// the work on it is shared out. What all ranks know they compute alike instead of asking.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/comm/communicator.h"
#include "core/storage/storage.h"

namespace det::context {

// NOLINTNEXTLINE(bugprone-exception-escape): an empty Json throws nothing
struct Contribution {
  std::string directory;  // the same for ranks that name the same one; empty: none
  bool selects = false;
  Json metadata;
};

// Collective. Of all ranks; throws on all of them when a rank's is wrong or none has a directory.
std::vector<Contribution> gather_contributions(comm::Communicator &communicator,
                                               const comm::Call &call,
                                               const std::function<Contribution()> &make);

// This rank's.
Contribution make_contribution(const comm::Communicator &communicator,
                               const std::filesystem::path &directory,
                               const std::string &metadata_json, bool selects);

// Of the files at `paths`; none: of all.
uint64_t bytes_of(const std::filesystem::path &directory,
                  const std::optional<std::vector<std::string>> &paths);

// A rank that selects stores what it selects; of the others, the lowest of those that name the same
// directory stores it.
bool stores(const std::vector<Contribution> &all, size_t rank);

std::vector<Json> unpack_metadata(const std::vector<std::string> &of_ranks);

// The metadata of the whole. Throws, on each rank alike, when it is contradictory or incomplete.
Json merged_metadata(const comm::Communicator &communicator, const std::vector<Json> &of_ranks,
                     int64_t most_steps);

// Collective. What this rank stores of its directory. Throws on all ranks when what they bring
// cannot lie in one checkpoint.
std::vector<std::string> settle_files(comm::Communicator &communicator, const comm::Call &call,
                                      const std::filesystem::path &directory,
                                      const storage::Selector &selector,
                                      const std::vector<Contribution> &all,
                                      storage::Progress *progress);

// What the listings of several ranks have in common, which are pure functions.

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
