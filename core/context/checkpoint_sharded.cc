// Saving by all ranks together. Every step between two of their collectives is one of
// core/comm/agreement.h, so that what fails on one rank fails on all. What all ranks know they
// compute alike instead of asking.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint.h"
#include "core/context/checkpoint_merge.h"
#include "core/context/checkpoint_metadata.h"
#include "core/context/train.h"

namespace det {

namespace fs = std::filesystem;

namespace {

// What a rank brings, before anything is stored.
struct Contribution {
  std::string directory;  // the same for ranks that name the same one; empty: none
  bool selects = false;
  Json metadata;

  std::string packed() const { return pack(Json::array({directory, selects, metadata})); }
  static Contribution from(const std::string &bytes) {
    const Json json = unpack(bytes, "what a rank brings to a checkpoint");
    return {json.at(0), json.at(1), json.at(2)};
  }
};

// The machine too: two file systems may have the same number on two machines.
std::string identity_of(const fs::path &directory, int machine) {
  struct stat about {};
  if (stat(directory.c_str(), &about) != 0)
    throw_errno(errno, "uploading a checkpoint: looking at '" + directory.string() + "'");
  if (!S_ISDIR(about.st_mode))
    throw Error(Code::invalid,
                "uploading a checkpoint: '" + directory.string() + "' is not a directory");
  return std::to_string(machine) + ":" + std::to_string(about.st_dev) + ":" +
         std::to_string(about.st_ino);
}

// A rank that selects stores what it selects; of the others, the lowest of those that name the same
// directory stores it.
bool stores(const std::vector<Contribution> &all, size_t rank) {
  if (all[rank].selects || all[rank].directory.empty()) return all[rank].selects;
  return std::none_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rank),
                      [&](const auto &other) { return other.directory == all[rank].directory; });
}

// As a list, since objects of our JSON are searched from their beginning.
using Numbers = std::map<std::string, uint64_t>;
std::string pack_numbers(const Numbers &numbers) {
  return pack(std::vector<std::pair<std::string, uint64_t>>(numbers.begin(), numbers.end()));
}
Numbers unpack_numbers(const std::string &bytes) {
  const auto list = unpack(bytes, "what a rank found in its directory")
                        .get<std::vector<std::pair<std::string, uint64_t>>>();
  return {list.begin(), list.end()};
}

// The metadata is made anew for the whole, whatever is there of it.
Resources list_selected(const fs::path &directory, const Selector &selector) {
  Resources listing = list_directory(directory);
  listing.erase(metadata_file);
  if (selector)
    std::erase_if(listing, [&](const auto &resource) { return !selector(resource.first); });
  return listing;
}

[[noreturn]] void refuse(const Communicator &communicator, const std::string &what,
                         const RanksByName &conflicts) {
  throw Error(Code::conflict,
              what + (communicator.is_chief() ? list_conflicts(conflicts) : " rank 0 says which"));
}

Json merged_metadata(const Communicator &communicator, const std::vector<Json> &of_ranks) {
  MergedMetadata metadata = merge_metadata(of_ranks);
  if (!metadata.conflicts.empty())
    refuse(communicator, "refusing to save with metadata conflicts:", metadata.conflicts);
  check_metadata(metadata.merged);
  return std::move(metadata.merged);
}

// What each rank stores; throws on all of them when their files cannot lie in one checkpoint.
std::vector<std::string> settle(Communicator &communicator, const fs::path &directory,
                                const std::vector<Contribution> &all, const Resources &mine,
                                const std::vector<Resources> &listings) {
  std::vector<std::string> directories;
  for (const Contribution &contribution : all) directories.push_back(contribution.directory);
  SharedFiles shared = compare_listings(listings, directories);
  if (!shared.undecided.empty()) {
    std::vector<Numbers> checksums;
    for (const std::string &bytes : all_agree(communicator, [&] {
           std::vector<std::string> paths;
           for (const auto &[path, ranks] : shared.undecided)
             if (mine.contains(path)) paths.push_back(path);
           return pack_numbers(paths.empty() ? Numbers() : checksums_of(directory, paths));
         }))
      checksums.push_back(unpack_numbers(bytes));
    decide(shared, checksums);
  }
  if (!shared.conflicting.empty())
    refuse(communicator, "refusing to upload with files conflicts:", shared.conflicting);
  return paths_to_store(communicator.ranks().rank, mine, shared.equal);
}

}  // namespace

// On the chief, `writer` receives the owner's.
std::string CheckpointContext::begin_writing(std::unique_ptr<CheckpointWriter> &writer) {
  return chief_decides(communicator_, [&] {
    writer = storage_.begin(make_uuid());
    return writer->id();
  });
}

std::string CheckpointContext::upload_sharded(const fs::path &directory,
                                              const std::string &metadata_json,
                                              const Selector &selector) {
  const auto rank = static_cast<size_t>(communicator_.ranks().rank);
  std::vector<Contribution> all;
  std::vector<Json> metadata_of_ranks;
  for (const std::string &bytes : all_agree(communicator_, [&] {
         if (selector && directory.empty())
           throw Error(Code::state,
                       "uploading a checkpoint: a selector without a directory; give both or "
                       "neither");
         const int machine = communicator_.ranks().cross_rank;
         return Contribution{directory.empty() ? "" : identity_of(directory, machine),
                             static_cast<bool>(selector),
                             parse_json_object(metadata_json, "metadata_json")}
             .packed();
       })) {
    all.push_back(Contribution::from(bytes));
    metadata_of_ranks.push_back(all.back().metadata);
  }
  if (std::ranges::all_of(all, [](const auto &each) { return each.directory.empty(); }))
    throw Error(Code::state, "uploading a checkpoint: no rank gave a directory");
  const Json metadata = merged_metadata(communicator_, metadata_of_ranks);
  size_t first = 0;  // of the ranks that store something
  while (!stores(all, first)) ++first;

  Resources mine;
  std::vector<Resources> listings;
  for (const std::string &bytes : all_agree(communicator_, [&] {
         if (stores(all, rank)) mine = list_selected(directory, selector);
         return pack_numbers(mine);
       }))
    listings.push_back(unpack_numbers(bytes));
  std::vector<std::string> paths = settle(communicator_, directory, all, mine, listings);

  std::unique_ptr<CheckpointWriter> writer;
  const std::string id = begin_writing(writer);
  std::vector<std::string> finished = all_agree(communicator_, [&] {
    train_.deliver_all();
    if (!stores(all, rank)) return std::string();
    if (rank == first) {
      write_metadata(directory, metadata);
      paths.emplace_back(metadata_file);
    }
    if (!writer) writer = storage_.join(id);
    writer->add(directory, paths);
    return writer->finish({});
  });
  return chief_decides(communicator_, [&] {
    std::erase(finished, std::string());
    publish(*writer, metadata, finished);
    return id;
  });
}

std::unique_ptr<CheckpointStore> CheckpointContext::begin_sharded(
    const std::string &metadata_json) {
  std::vector<Json> metadata_of_ranks;
  for (const std::string &bytes : all_agree(
           communicator_, [&] { return pack(parse_json_object(metadata_json, "metadata_json")); }))
    metadata_of_ranks.push_back(unpack(bytes, "the metadata of a rank"));
  Json metadata = merged_metadata(communicator_, metadata_of_ranks);
  std::unique_ptr<CheckpointWriter> writer;
  const std::string id = begin_writing(writer);
  all_agree(communicator_, [&] {
    if (!writer) writer = storage_.join(id);
    return std::string();
  });
  return std::unique_ptr<CheckpointStore>(
      new CheckpointStore(*this, std::move(metadata), true, std::move(writer)));
}

}  // namespace det
