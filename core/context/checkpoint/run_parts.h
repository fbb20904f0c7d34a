// What saving and restoring need of a run.
#pragma once

#include "core/base/log/log.h"
#include "core/comm/communicator.h"
#include "core/context/lifetime.h"
#include "core/engine/runs/run_backend.h"
#include "core/storage/storage.h"

namespace det::context {

class TrainContext;

struct RunParts {
  const Lifetime &lifetime;
  comm::Communicator &communicator;
  engine::RunBackend &master;
  storage::Storage &storage;
  TrainContext &train;
  Logger &logger;
};

}  // namespace det::context
