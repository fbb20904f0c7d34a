// The experiments of a master over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/codec/lists.h"
#include "core/engine/records/control.h"
#include "core/engine/records/page.h"
#include "core/master/rest/master_session.h"

namespace det::client {

// Any thread.
class RestExperiments {
 public:
  RestExperiments(master::MasterSession &session, std::shared_ptr<Logger> logger)
      : session_(session), logger_(std::move(logger)) {}

  // Throws Code::not_found, naming what was tried.
  codec::Experiment find(int64_t id, const std::string &tried);
  std::vector<Json> all_trials(const codec::Experiment &experiment);

  Json list(const engine::Page &page);
  Json get(int64_t experiment_id);
  Json describe(int64_t experiment_id);
  Json update(int64_t experiment_id, const Json &changes);
  Json remove(int64_t experiment_id);
  void act(int64_t experiment_id, engine::Action action);

 private:
  Json description(const codec::Experiment &experiment);

  master::MasterSession &session_;
  const std::shared_ptr<Logger> logger_;
};

}  // namespace det::client
