#include "core/context/checkpoint/joint_upload.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint/checkpoint_metadata.h"
#include "core/storage/tree.h"

namespace det::context {

namespace fs = std::filesystem;

namespace {

size_t at(int rank) { return static_cast<size_t>(rank); }

std::set<std::string> directories_of(const storage::Resources &listing) {
  std::set<std::string> directories;
  for (const auto &[path, size] : listing)
    for (size_t slash = path.rfind('/'); slash != path.npos && slash > 0;
         slash = path.rfind('/', slash - 1))
      if (!directories.insert(path.substr(0, slash)).second) break;
  return directories;
}

// Whether `of(rank)` is the same for all.
template <class F>
bool agree(const std::vector<int> &ranks, F &&of) {
  return std::ranges::all_of(ranks, [&](int rank) { return of(rank) == of(ranks.front()); });
}

}  // namespace

RanksByName shared_names(const std::vector<storage::Resources> &listings) {
  RanksByName names;
  for (const storage::Resources &listing : listings)
    for (const auto &[path, size] : listing)
      if (!path.ends_with('/')) names.try_emplace(path);
  for (int rank = 0; const storage::Resources &listing : listings) {
    const std::set<std::string> directories = directories_of(listing);
    for (const std::string &path : directories)
      if (const auto name = names.find(path); name != names.end()) name->second.push_back(rank);
    for (const auto &[path, size] : listing)
      if (!path.ends_with('/') && !directories.contains(path)) names[path].push_back(rank);
    ++rank;
  }
  std::erase_if(names, [](const auto &name) { return name.second.size() < 2; });
  return names;
}

SharedFiles compare_listings(const std::vector<storage::Resources> &listings,
                             const std::vector<std::string> &directories) {
  SharedFiles shared;
  for (auto &[name, ranks] : shared_names(listings)) {
    // The size; nothing where it is a directory.
    const auto size = [&, &path = name](int rank) {
      const auto found = listings[at(rank)].find(path);
      return found == listings[at(rank)].end() ? std::optional<uint64_t>() : found->second;
    };
    const bool files = std::ranges::all_of(ranks, [&](int rank) { return size(rank).has_value(); });
    if (!files || !agree(ranks, size)) shared.conflicting.emplace(name, ranks);
    else if (agree(ranks, [&](int rank) { return directories[at(rank)]; }))
      shared.equal.emplace(name, ranks);
    else shared.undecided.emplace(name, ranks);
  }
  return shared;
}

void decide(SharedFiles &shared, const std::vector<std::map<std::string, uint64_t>> &checksums) {
  for (auto &[name, ranks] : std::exchange(shared.undecided, {})) {
    const auto sum = [&, &path = name](int rank) { return checksums[at(rank)].at(path); };
    (agree(ranks, sum) ? shared.equal : shared.conflicting).emplace(name, ranks);
  }
}

std::vector<std::string> paths_to_store(int rank, const storage::Resources &listing,
                                        const RanksByName &equal) {
  std::vector<std::string> paths;
  for (const auto &[path, size] : listing) {
    const auto found = equal.find(path);
    if (found == equal.end() || found->second.front() == rank) paths.push_back(path);
  }
  return paths;
}

std::vector<std::vector<std::string>> share_out(const storage::Resources &files, size_t ranks) {
  constexpr uint64_t for_each_file = uint64_t{64} << 10;  // opening and syncing, in bytes
  std::vector<std::pair<uint64_t, std::string>> by_size;
  for (const auto &[path, size] : files)
    if (!path.ends_with('/')) by_size.emplace_back(size, path);
  std::ranges::sort(by_size, std::greater());
  using Load = std::pair<uint64_t, size_t>;  // bytes, rank
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (size_t rank = 0; rank < ranks; ++rank) loads.emplace(0, rank);
  std::vector<std::vector<std::string>> shares(ranks);
  for (auto &[size, path] : by_size) {
    const auto [load, rank] = loads.top();
    loads.pop();
    loads.emplace(load + size + for_each_file, rank);
    shares[rank].push_back(std::move(path));
  }
  return shares;
}

namespace {

// The machine too: two file systems may have the same number on two machines.
std::string identity_of(const fs::path &directory, int machine) {
  struct stat about {};
  if (stat(directory.c_str(), &about) != 0)
    OsFailure{errno}.raise("uploading a checkpoint: looking at '" + directory.string() + "'");
  if (!S_ISDIR(about.st_mode))
    throw Error(Code::invalid,
                "uploading a checkpoint: '" + directory.string() + "' is not a directory");
  return std::to_string(machine) + ":" + std::to_string(about.st_dev) + ":" +
         std::to_string(about.st_ino);
}

std::string packed(const Contribution &mine) {
  return pack(Json::array({mine.directory, mine.selects, mine.metadata}));
}

Contribution unpacked(const std::string &bytes) {
  const Json json = unpack(bytes, "what a rank brings to a checkpoint");
  return {json.at(0), json.at(1), json.at(2)};
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
storage::Resources list_selected(const fs::path &directory, const storage::Selector &selector) {
  storage::Resources listing = storage::list_directory(directory);
  listing.erase(storage::metadata_name);
  if (selector)
    std::erase_if(listing, [&](const auto &resource) { return !selector(resource.first); });
  return listing;
}

[[noreturn]] void refuse(const comm::Communicator &communicator, const std::string &what,
                         const RanksByName &conflicts) {
  throw Error(Code::conflict,
              what + (communicator.is_chief() ? list_conflicts(conflicts) : " rank 0 says which"));
}

std::vector<Numbers> gather_numbers(comm::Communicator &communicator, const comm::Call &call,
                                    const std::function<Numbers()> &make) {
  std::vector<Numbers> all;
  for (const std::string &bytes :
       comm::all_agree(communicator, call, [&] { return pack_numbers(make()); }))
    all.push_back(unpack_numbers(bytes));
  return all;
}

}  // namespace

Contribution make_contribution(const comm::Communicator &communicator, const fs::path &directory,
                               const std::string &metadata_json, bool selects) {
  if (selects && directory.empty())
    throw Error(Code::state,
                "uploading a checkpoint: a selector without a directory; give both or neither");
  Contribution mine;
  if (!directory.empty()) mine.directory = identity_of(directory, communicator.ranks().cross_rank);
  mine.selects = selects;
  mine.metadata = parse_json_object(metadata_json, "metadata_json");
  return mine;
}

uint64_t bytes_of(const fs::path &directory, const std::optional<std::vector<std::string>> &paths) {
  const storage::Resources listing = storage::list_directory(directory);
  uint64_t bytes = 0;
  if (paths)
    for (const std::string &path : *paths) bytes += listing.at(path);
  else
    for (const auto &[path, size] : listing) bytes += size;
  return bytes;
}

std::vector<Contribution> gather_contributions(comm::Communicator &communicator,
                                               const comm::Call &call,
                                               const std::function<Contribution()> &make) {
  std::vector<Contribution> all;
  const auto messages = comm::all_agree(communicator, call, [&] { return packed(make()); });
  for (const std::string &bytes : messages) all.push_back(unpacked(bytes));
  if (std::ranges::all_of(all, [](const auto &each) { return each.directory.empty(); }))
    throw Error(Code::state, "uploading a checkpoint: no rank gave a directory");
  return all;
}

bool stores(const std::vector<Contribution> &all, size_t rank) {
  if (all[rank].selects || all[rank].directory.empty()) return all[rank].selects;
  return std::none_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rank),
                      [&](const auto &other) { return other.directory == all[rank].directory; });
}

std::vector<Json> unpack_metadata(const std::vector<std::string> &of_ranks) {
  std::vector<Json> all;
  for (const std::string &bytes : of_ranks) all.push_back(unpack(bytes, "the metadata of a rank"));
  return all;
}

Json merged_metadata(const comm::Communicator &communicator, const std::vector<Json> &of_ranks,
                     int64_t most_steps) {
  MergedMetadata metadata = merge_metadata(of_ranks);
  if (!metadata.conflicts.empty())
    refuse(communicator, "refusing to save with metadata conflicts:", metadata.conflicts);
  check_metadata(metadata.merged, most_steps);
  return std::move(metadata.merged);
}

std::vector<std::string> settle_files(comm::Communicator &communicator, const comm::Call &call,
                                      const fs::path &directory, const storage::Selector &selector,
                                      const std::vector<Contribution> &all,
                                      storage::Progress *progress) {
  const auto rank = static_cast<size_t>(communicator.ranks().rank);
  const std::vector<Numbers> listings = gather_numbers(communicator, call, [&] {
    return stores(all, rank) ? list_selected(directory, selector) : Numbers();
  });
  std::vector<std::string> directories;
  for (const Contribution &contribution : all) directories.push_back(contribution.directory);
  SharedFiles shared = compare_listings(listings, directories);
  if (!shared.undecided.empty())
    decide(shared, gather_numbers(communicator, call, [&] {
             std::vector<std::string> paths;
             for (const auto &[path, ranks] : shared.undecided)
               if (listings[rank].contains(path)) paths.push_back(path);
             return paths.empty() ? Numbers() : storage::checksums_of(directory, paths, progress);
           }));
  if (!shared.conflicting.empty())
    refuse(communicator, "refusing to upload with files conflicts:", shared.conflicting);
  return paths_to_store(communicator.ranks().rank, listings[rank], shared.equal);
}

}  // namespace det::context
