// What the opaque handles of the C API hold.
#pragma once

#include <det/core.h>

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/context/checkpoint/open_checkpoint.h"
#include "core/context/core.h"
#include "core/context/info.h"
#include "core/context/profiler.h"

struct det_distributed_context {
  det::comm::Communicator *impl = nullptr;
  std::unique_ptr<det::comm::Communicator> owned;  // empty in the view that a core lends
};

struct det_messages {
  std::vector<det::comm::Message> list;
  std::shared_ptr<det::comm::SpareBuffers> spare;  // takes their memory back
};

struct det_info {
  const det::context::Info &impl;
  det::Logger &logger;
};

struct det_preempt_context {
  det::context::PreemptContext &impl;
};

struct det_train_context {
  det::context::TrainContext &impl;
};

struct det_searcher_op {
  det::context::SearcherOperation *impl = nullptr;
};

struct det_searcher_context {
  det::context::SearcherContext &impl;
  std::mutex mutex;
  std::list<det_searcher_op> operations;  // those handed out
};

struct det_profiler_context {
  det::context::ProfilerContext &impl;
};

struct det_tensorboard_context {
  det::context::TensorboardContext &impl;
};

// Stores and readers keep the core's memory alive, so that the order of freeing does not matter.
struct det_checkpoint_context {
  std::shared_ptr<det::context::Core> core;
};

struct det_checkpoint_writer {
  std::shared_ptr<det::context::Core> core;
  det_progress_callback progress;
  void *user_data;
  std::unique_ptr<det::context::OpenCheckpoint> impl;
};

struct det_checkpoint_ticket {
  std::shared_ptr<det::context::Core> core;
  std::shared_ptr<det::context::SaveTicket> impl;
};

struct det_checkpoint_reader {
  std::shared_ptr<det::context::Core> core;
  std::unique_ptr<det::storage::CheckpointReader> impl;
};

struct det_core {
  explicit det_core(std::shared_ptr<det::context::Core> started)
      : impl(std::move(started)),
        info{impl->info(), impl->logger()},
        checkpoint{impl},
        preempt{impl->preempt()},
        train{impl->train()},
        searcher{impl->searcher(), {}, {}},
        profiler{impl->profiler()},
        tensorboard{impl->tensorboard()} {
    distributed.impl = &impl->communicator();
  }

  std::shared_ptr<det::context::Core> impl;
  det_info info;
  det_distributed_context distributed;
  det_checkpoint_context checkpoint;
  det_preempt_context preempt;
  det_train_context train;
  det_searcher_context searcher;
  det_profiler_context profiler;
  det_tensorboard_context tensorboard;
};
