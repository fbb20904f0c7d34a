// One sequence of workloads for all ranks of a job.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/comm/communicator.h"
#include "core/context/core.h"
#include "core/trial/workloads/sequencer.h"

namespace det::trial {

// Every call but state() is made by all ranks in step; what throws on one of them throws on all.
// The chief's sequencer decides.
class JobSequencer {
 public:
  // Of a run, which is borrowed; the chief alone asks it for operations from now on, and calls
  // `config`.
  static JobSequencer of_run(context::Core &core, const std::function<Json()> &config,
                             int64_t global_batch_size);
  // `make` is called on the chief alone. The communicator is borrowed.
  JobSequencer(comm::Communicator &communicator,
               const std::function<std::unique_ptr<Sequencer>()> &make);

  std::optional<Workload> next();

  // What `read` gives. Only the chief's metrics count, but a rank that wants to stop speaks for
  // all.
  void respond(const std::function<Json()> &read);
  // In step with respond() of others, this rank speaks for all. Where they are in the middle of
  // something it ends the job: they get Code::conflict, which names this call, and do the same.
  void respond_invalid_hparams();

  // The chief's; Code::state elsewhere.
  Json state() const;
  // Elsewhere `read` is not called.
  void load_state(const std::function<Json()> &read);

 private:
  void respond(comm::ApiCall call, const std::function<std::optional<Json>()> &read);

  comm::Communicator &communicator_;
  std::shared_ptr<CoreCalls> calls_;      // of the chief of a run
  std::unique_ptr<Sequencer> sequencer_;  // of the chief
};

}  // namespace det::trial
