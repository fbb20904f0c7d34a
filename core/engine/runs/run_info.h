// What a run is given and what it hands in, as every master has it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace det::engine {

// What this run was asked to train. Fixed once the run has started, and the same on all its ranks.
struct RunInfo {
  int64_t experiment_id = 0;
  int64_t trial_id = 0;
  int64_t run_id = 0;  // 1 for the first start of the trial, then 2, ...
  int64_t trial_seed = 0;
  Json hparams = Json::object();
  Json config = Json::object();
  std::optional<std::string> latest_checkpoint;
  int64_t steps_completed = 0;  // of the latest checkpoint
  std::string task_id;
  std::string allocation_id;
  std::string cluster_id;
};

// For the other ranks of a run.
Json to_json(const RunInfo &info);
RunInfo run_info_from_json(const Json &json);

// A checkpoint of a trial that can be restored.
struct CheckpointEntry {
  std::string id;
  int64_t steps = 0;
  int64_t time_us = 0;  // when it was reported
  int64_t size = 0;     // bytes of all its files
};

// One that its caller is to delete now.
struct WithdrawnCheckpoint {
  std::string id;
  bool was_complete = false;  // else somebody has begun to delete it before
};

struct CheckpointReport {
  std::string id;
  Json metadata;
  std::map<std::string, uint64_t> resources;  // relative path → bytes; directories end in '/'
  Json storage;                               // how to build the storage again
};

// For the journal.
Json to_json(const CheckpointReport &report);
CheckpointReport checkpoint_report_from_json(const Json &json);

struct SearchOperation {
  uint64_t length = 0;     // absolute
  bool completed = false;  // no work for now
};

}  // namespace det::engine
