#include "core/master/rest/parcel_order.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace det::master {

void put_training_first(std::vector<Parcel> &parcels) {
  std::unordered_set<int64_t> validated;
  std::unordered_map<int64_t, std::vector<Parcel>> late;  // training, by step
  std::vector<Parcel> rest;
  rest.reserve(parcels.size());
  for (Parcel &parcel : parcels) {
    const int64_t step = parcel.report->steps;
    if (parcel.is_metrics() && parcel.report->group == "validation") validated.insert(step);
    const bool is_late =
        parcel.is_metrics() && parcel.report->group == "training" && validated.contains(step);
    (is_late ? late[step] : rest).push_back(std::move(parcel));
  }
  parcels.clear();
  for (Parcel &parcel : rest) {
    if (parcel.is_metrics() && parcel.report->group == "validation")
      if (auto found = late.extract(parcel.report->steps); !found.empty())
        for (Parcel &training : found.mapped()) parcels.push_back(std::move(training));
    parcels.push_back(std::move(parcel));
  }
}

}  // namespace det::master
