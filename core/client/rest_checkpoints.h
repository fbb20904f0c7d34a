// The checkpoints of a master over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/client/rest_trials.h"
#include "core/codec/checkpoints.h"

namespace det::client {

// Any thread.
class RestCheckpoints {
 public:
  RestCheckpoints(master::MasterSession &session, RestExperiments &experiments, RestTrials &trials,
                  std::shared_ptr<Logger> logger)
      : session_(session), experiments_(experiments), trials_(trials), logger_(std::move(logger)) {}

  Json list(int64_t trial_id, const engine::Page &page);
  Json get(const std::string &id);
  Json find(const std::string &text);
  Json storage_of(const std::string &id);
  Json usage();
  Json remove(const std::string &id);

 private:
  // Throws Code::not_found.
  codec::Checkpoint read(const std::string &id);

  master::MasterSession &session_;
  RestExperiments &experiments_;
  RestTrials &trials_;
  const std::shared_ptr<Logger> logger_;
};

}  // namespace det::client
