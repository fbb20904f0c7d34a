#include "core/client/sync.h"

#include <utility>

#include "core/base/json.h"

namespace det::client {

Json to_json(const journal::Recovery &recovery) {
  Json spools = Json::array();
  for (const journal::RecoveredRank &rank : recovery.ranks)
    spools.push_back({{"trial_id", rank.trial_id},
                      {"trial_run_id", rank.run_id},
                      {"reports", rank.reports},
                      {"lost_bytes", rank.lost_bytes},
                      {"refused", rank.refused}});
  return {{"journals", std::move(spools)}, {"busy", recovery.busy}};
}

}  // namespace det::client
