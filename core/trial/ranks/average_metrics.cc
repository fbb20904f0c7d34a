#include "core/trial/ranks/average_metrics.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/comm/agreement.h"

namespace det::trial {

namespace {

std::string averaging() { return "averaging metrics: "; }

struct Share {
  Json metrics;
  std::optional<double> weight;
};

std::vector<Share> exchange(comm::Communicator &communicator,
                            const std::function<std::string()> &metrics,
                            std::optional<double> weight) {
  const auto mine = [&] {
    const Json given = parse_json_object(metrics(), "averaging metrics: the metrics");
    if (weight && !(*weight >= 0 && std::isfinite(*weight)))
      throw Error(Code::invalid,
                  averaging() + "a weight is a number of records, not " + std::to_string(*weight));
    return pack(Json{{"metrics", given}, {"weight", weight ? Json(*weight) : Json()}});
  };
  std::vector<Share> shares;
  for (const std::string &text :
       comm::all_agree(communicator, {comm::ApiCall::trial_average_metrics}, mine)) {
    Json share = unpack(text, "the metrics of a rank");
    const Json &given = share["weight"];
    shares.push_back({share["metrics"], given.is_null() ? std::optional<double>()
                                                        : std::optional(given.get<double>())});
  }
  return shares;
}

void check_key(const Share &share, const std::string &key, const Json &other, size_t has,
               size_t lacks) {
  const std::string ranks =
      "rank " + std::to_string(has) + " reports '" + key + "' and rank " + std::to_string(lacks);
  const auto found = share.metrics.find(key);
  if (found == share.metrics.end())
    throw Error(Code::conflict, averaging() + ranks + " does not; all ranks must report the same");
  if (found->is_number() != other.is_number())
    throw Error(Code::conflict,
                averaging() + ranks + " reports it too, but only one of them a number");
}

void check(const std::vector<Share> &shares) {
  const Share &chief = shares.front();
  double total = 0;
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    for (const auto &[key, value] : chief.metrics.items())
      check_key(shares[rank], key, value, 0, rank);
    for (const auto &[key, value] : shares[rank].metrics.items())
      check_key(chief, key, value, rank, 0);
    if (shares[rank].weight.has_value() != chief.weight.has_value())
      throw Error(Code::conflict, averaging() + "ranks 0 and " + std::to_string(rank) +
                                      ": only one of them gives a weight");
    total += shares[rank].weight.value_or(1);
  }
  if (total == 0) throw Error(Code::invalid, averaging() + "the weights of all ranks are 0");
}

Json mean(const std::vector<Share> &shares, const std::string &key) {
  bool are_whole = true;
  double sum = 0, total = 0;
  const Json &first = shares.front().metrics[key];
  bool are_equal = true;
  for (const Share &share : shares) {
    const Json &value = share.metrics[key];
    const double weight = share.weight.value_or(1);
    are_whole = are_whole && value.is_number_integer();
    are_equal = are_equal && value == first;
    if (weight == 0) continue;  // also where it is not a number
    sum += weight * value.get<double>();
    total += weight;
  }
  if (are_whole && are_equal) return first;  // also beyond what a double counts
  const double result = sum / total;
  constexpr double exact = 9007199254740992;  // 2^53
  if (are_whole && result == std::floor(result) && std::fabs(result) < exact)
    return static_cast<int64_t>(result);
  return result;
}

}  // namespace

Json average_metrics(comm::Communicator &communicator, const std::function<std::string()> &metrics,
                     std::optional<double> weight) {
  const std::vector<Share> shares = exchange(communicator, metrics, weight);
  check(shares);
  std::vector<std::string> keys;
  for (const auto &[key, value] : shares.front().metrics.items()) keys.push_back(key);
  std::ranges::sort(keys);
  Json averages = Json::object();
  for (const std::string &key : keys) {
    const Json &own = shares.front().metrics[key];
    averages[key] = own.is_number() ? mean(shares, key) : own;
  }
  return averages;
}

}  // namespace det::trial
