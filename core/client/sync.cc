#include "core/client/sync.h"

#include <utility>

namespace det::client {

Json to_json(const engine::Recovery &recovery) {
  Json spools = Json::array();
  for (const engine::LeftBehind &run : recovery.runs)
    spools.push_back({{"trial_id", run.trial_id},
                      {"trial_run_id", run.run_id},
                      {"reports", run.reports},
                      {"lost_bytes", run.lost_bytes},
                      {"refused", run.refused}});
  return {{"spools", std::move(spools)}, {"busy", recovery.busy}};
}

}  // namespace det::client
