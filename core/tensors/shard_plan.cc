#include "core/tensors/shard_plan.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::tensors {

namespace {

struct Owner {
  size_t rank, index;
};

// The same part on some ranks.
using Replicas = std::map<Region, std::vector<Owner>>;

struct Brought {
  const TensorPart *first;
  size_t first_rank;
  Replicas replicas = {};
};

[[noreturn]] void throw_conflict(const std::string &name, const std::string &problem) {
  throw Error(Code::conflict,
              "writing tensor " + quoted_name(name) + " of several ranks: " + problem);
}

void check_alike(const Brought &brought, const TensorPart &part, size_t rank) {
  const TensorPart &first = *brought.first;
  if (first.dtype == part.dtype && first.whole == part.whole) return;
  const auto tell = [](const TensorPart &one, size_t of) {
    return std::string("rank ") + std::to_string(of) + " has it as " + name_of(one.dtype) + " " +
           text_of(one.whole);
  };
  throw_conflict(part.name, tell(first, brought.first_rank) + ", " + tell(part, rank));
}

}  // namespace

std::string pack_parts(const std::vector<Tensor> &tensors) {
  Json list = Json::array();
  for (const Tensor &tensor : tensors)
    list.push_back(Json::array({tensor.name, static_cast<int>(tensor.dtype), tensor.region.offset,
                                tensor.region.shape, tensor.whole}));
  return pack(list);
}

std::vector<TensorPart> unpack_parts(const std::string &bytes) try {
  std::vector<TensorPart> parts;
  for (const Json &each : unpack(bytes, "the tensors of a rank")) {
    const std::optional<Dtype> dtype = dtype_numbered(each.at(1).get<int>());
    if (!dtype) throw Error(Code::corrupt, "reading the tensors of a rank: an unknown dtype");
    parts.push_back({each.at(0).get<std::string>(),
                     *dtype,
                     {each.at(2).get<Shape>(), each.at(3).get<Shape>()},
                     each.at(4).get<Shape>()});
  }
  return parts;
} catch (const Json::exception &e) {
  throw Error(Code::corrupt, std::string("reading the tensors of a rank: ") + e.what());
}

void check_cover(std::vector<PlacedPart> &parts, const Shape &whole, const RefuseParts &refuse) {
  std::sort(parts.begin(), parts.end(), [](const PlacedPart &one, const PlacedPart &other) {
    return one.region < other.region;
  });
  uint64_t covered = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Region &region = parts[i].region;
    covered += elements_of(region.shape).value_or(0);
    // Those behind begin later in the first dimension, and so none of them once one begins behind.
    for (size_t k = i + 1; k < parts.size(); ++k) {
      if (!region.shape.empty() && parts[k].region.offset[0] >= region.offset[0] + region.shape[0])
        break;
      if (common_of(region, parts[k].region))
        refuse("the parts " + text_of(region) + " of " + std::to_string(parts[i].origin) + " and " +
               text_of(parts[k].region) + " of " + std::to_string(parts[k].origin) + " overlap");
    }
  }
  const uint64_t all = elements_of(whole).value_or(0);
  if (covered != all)
    refuse("of its " + std::to_string(all) + " elements " + std::to_string(covered) + " are there");
}

std::vector<std::vector<size_t>> plan_shards(const std::vector<std::vector<TensorPart>> &of_ranks) {
  std::map<std::string, Brought> tensors;
  for (size_t rank = 0; rank < of_ranks.size(); ++rank)
    for (size_t index = 0; index < of_ranks[rank].size(); ++index) {
      const TensorPart &part = of_ranks[rank][index];
      Brought &brought = tensors.try_emplace(part.name, Brought{&part, rank}).first->second;
      check_alike(brought, part, rank);
      // Of an empty tensor one is enough, and an empty part of another is nothing.
      const bool empty = elements_of(part.region.shape) == 0;
      if (!empty || part.is_whole()) brought.replicas[part.region].push_back({rank, index});
    }
  std::vector<std::vector<size_t>> plan(of_ranks.size());
  std::vector<uint64_t> load(of_ranks.size());
  for (const auto &[name, brought] : tensors) {
    std::vector<PlacedPart> parts;
    for (const auto &[region, owners] : brought.replicas) {
      parts.push_back({region, owners.front().rank});
      const Owner &writer = *std::ranges::min_element(
          owners, {}, [&](const Owner &owner) { return load[owner.rank]; });
      plan[writer.rank].push_back(writer.index);
      load[writer.rank] += bytes_of(brought.first->dtype, region.shape).value_or(0);
    }
    check_cover(parts, brought.first->whole, [&name = name](const std::string &problem) {
      throw_conflict(name, problem + " (the numbers are ranks)");
    });
  }
  return plan;
}

std::vector<std::vector<size_t>> shared_parts(
    const std::vector<std::vector<TensorPart>> &of_ranks) {
  std::map<std::pair<std::string, Region>, int> owners;
  for (const auto &parts : of_ranks)
    for (const TensorPart &part : parts) ++owners[{part.name, part.region}];
  std::vector<std::vector<size_t>> shared(of_ranks.size());
  for (size_t rank = 0; rank < of_ranks.size(); ++rank)
    for (size_t index = 0; index < of_ranks[rank].size(); ++index) {
      const TensorPart &part = of_ranks[rank][index];
      if (owners[{part.name, part.region}] > 1 && elements_of(part.region.shape) != 0)
        shared[rank].push_back(index);
    }
  return shared;
}

void check_shared(const std::vector<std::vector<TensorPart>> &of_ranks,
                  const std::vector<std::vector<uint64_t>> &sums) {
  struct First {
    size_t rank;
    uint64_t sum;
  };
  std::map<std::pair<std::string, Region>, First> firsts;
  const std::vector<std::vector<size_t>> shared = shared_parts(of_ranks);
  for (size_t rank = 0; rank < of_ranks.size(); ++rank)
    for (size_t i = 0; i < shared[rank].size(); ++i) {
      const TensorPart &part = of_ranks[rank][shared[rank][i]];
      const uint64_t sum = sums.at(rank).at(i);
      const First &first =
          firsts.try_emplace({part.name, part.region}, First{rank, sum}).first->second;
      if (first.sum == sum) continue;
      throw_conflict(part.name, "ranks " + std::to_string(first.rank) + " and " +
                                    std::to_string(rank) +
                                    " have different bytes of it; give it on one rank only, or "
                                    "make the ranks agree before they save");
    }
}

}  // namespace det::tensors
