#include "core/trial/added_gradients.h"

#include <algorithm>
#include <vector>

#include "core/base/hash.h"
#include "core/comm/numbers.h"
#include "core/trial/reduction.h"

namespace det::trial {

std::string gradient_name(size_t index) { return "gradient " + std::to_string(index); }

void AddedGradients::end_batch() { std::ranges::replace(seen_, now, earlier); }

void AddedGradients::end_period() { std::ranges::fill(seen_, none); }

// What ranks have seen, of the first tensor of which one has not what rank 0 has.
std::string AddedGradients::difference(const std::vector<comm::Message> &seen) {
  const std::string &chief = seen.front().value();
  for (size_t rank = 1; rank < seen.size(); ++rank) {
    const auto [one, other] = std::ranges::mismatch(chief, seen[rank].value());
    if (one == chief.end()) continue;
    const bool chief_has = *other == none || (*one == now && *other == earlier);
    return "rank " + std::to_string(chief_has ? 0 : rank) + " added " +
           gradient_name(static_cast<size_t>(one - chief.begin())) + " and rank " +
           std::to_string(chief_has ? rank : 0) +
           " did not; every rank must add the same ones in a batch";
  }
  return "ranks added different gradients";
}

std::optional<std::string> AddedGradients::find_problem(comm::Communicator &communicator) const {
  if (communicator.ranks().size > 1) {
    std::string mine;
    comm::append_number(mine, checksum64(seen_.data(), seen_.size()));
    const std::vector<comm::Message> sums = communicator.allgather(mine, stepping_gradients);
    if (std::ranges::any_of(sums, [&](const comm::Message &sum) { return sum != mine; }))
      return difference(communicator.allgather(seen_, stepping_gradients));
  }
  const size_t missing = seen_.find(earlier);
  if (missing == std::string::npos) return std::nullopt;
  return gradient_name(missing) +
         " is missing in the last batch of a period and was there before; add zeros";
}

}  // namespace det::trial
