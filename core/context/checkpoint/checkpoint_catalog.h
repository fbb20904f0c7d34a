// What the master knows of the checkpoints of this trial, and what is on its way there.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/context/checkpoint/retention.h"
#include "core/context/checkpoint/run_parts.h"
#include "core/context/checkpoint/save_ticket.h"

namespace det::context {

class CheckpointCatalog {
 public:
  CheckpointCatalog(const RunParts &run, Retention &retention) : run_(run), retention_(retention) {}

  // Makes it visible in storage, then reports it; in the journal where the master is not there.
  void publish(storage::CheckpointWriter &writer, const Json &metadata,
               const std::vector<std::string> &shares, storage::Progress *progress,
               SaveTicket *ticket = nullptr);

  std::vector<engine::CheckpointEntry> list();  // as Master::checkpoints()
  Json metadata(const std::string &id);

  // Now, if it waits in the journal: to the master its end must not come before its beginning.
  void report_waiting(const std::string &id);

 private:
  void publish_later(storage::CheckpointWriter &writer, const engine::CheckpointReport &report,
                     const Error &reason);
  bool keep(const engine::CheckpointReport &report);

  const RunParts &run_;
  Retention &retention_;
  std::mutex mutex_;
  std::map<std::string, engine::CheckpointReport> waiting_;  // for the master, in the journal
};

}  // namespace det::context
