#include "core/context/checkpoint_merge.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <utility>

namespace det::context {

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

}  // namespace det::context
