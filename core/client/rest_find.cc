// Records of a master by what people type for them.
#include "core/base/error.h"
#include "core/client/rest_client.h"
#include "core/client/rest_entries.h"
#include "core/codec/unmanaged.h"
#include "core/engine/records/find.h"

namespace det::client {

// A master looks for whole ids only: all checkpoints are read.
Json RestClient::find_checkpoint(const std::string &text) {
  try {
    return get_checkpoint(text);
  } catch (const Error &error) {
    if (error.code != Code::not_found) throw;
  }
  const std::string prefix = engine::checkpoint_prefix(text);
  std::vector<engine::FoundCheckpoint> found;
  engine::Page page;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const Json list = list_checkpoints(0, page);
    for (const Json &one : list.at("checkpoints")) {
      const auto uuid = one.at("uuid").get<std::string>();
      const Json &trial = one.at("trial_id"), &steps = one.at("steps_completed");
      if (uuid.starts_with(prefix))
        found.push_back({uuid, trial.is_null() ? 0 : trial.get<int64_t>(),
                         steps.is_null() ? 0 : steps.get<int64_t>()});
    }
    next = list.at("next");
  }
  return get_checkpoint(engine::only_checkpoint(text, found, session_->url()));
}

// Masters know an external id together with that of the experiment only.
Json RestClient::find_trial(const std::string &text) {
  const engine::TrialText trial = engine::read_trial_text(text);
  if (trial.id) return get_trial(*trial.id);
  const std::string tried = "looking for a trial";
  const size_t slash = trial.external_id.find('/');
  if (slash == std::string::npos)
    throw Error(Code::unsupported, tried + ": " + session_->url() + " does not know \"" +
                                       trial.external_id +
                                       "\" by itself; give EXPERIMENT/TRIAL, the external ids of "
                                       "both, or the number of the trial");
  int64_t id = 0;
  try {
    id = session_
             ->call(codec::GetTrialByExternalId{trial.external_id.substr(0, slash),
                                                trial.external_id.substr(slash + 1)})
             .trial.id;
  } catch (const Error &error) {
    // Masters answer 500 where there is none.
    if (error.http_status != 404 && error.http_status != 500) throw;
    throw_not_found(tried, "trial", "\"" + trial.external_id + "\"", session_->url(), "det ls");
  }
  return get_trial(id);
}

}  // namespace det::client
