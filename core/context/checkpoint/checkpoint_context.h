// The checkpoints of a run: a part for each duty, and what concerns all of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/context/checkpoint/background_saves.h"
#include "core/context/checkpoint/checkpoint_catalog.h"
#include "core/context/checkpoint/checkpoint_restorer.h"
#include "core/context/checkpoint/checkpoint_saver.h"
#include "core/context/checkpoint/retention.h"
#include "core/context/checkpoint/run_parts.h"
#include "core/context/checkpoint/save_stage.h"
#include "core/tensors/tensor.h"

namespace det::context {

class CheckpointContext {
 public:
  explicit CheckpointContext(const RunParts &run);

  CheckpointSaver &saver() { return saver_; }
  CheckpointRestorer &restorer() { return restorer_; }
  CheckpointCatalog &catalog() { return catalog_; }
  BackgroundSaves &background() { return background_; }
  Retention &retention() { return retention_; }

  // The program's state in memory: `buffers`, in step on all ranks of a job. Gives the id.
  std::string save_state(int64_t steps, const std::vector<tensors::Tensor> &buffers);
  // Fills `buffers` from what save_state() has stored. Gives its steps; without an id, those of the
  // checkpoint that this run begins with, or 0 where there is none, which fills nothing.
  int64_t load_state(const std::optional<std::string> &id,
                     const std::vector<tensors::Tensor> &buffers);

  void remove(const std::string &id);

  // Settles what killed processes left: a checkpoint they made but never announced is removed, and
  // so is one that they were removing.
  void recover();

 private:
  void finish_removal(const std::string &id);

  const RunParts run_;
  CurrentStage stage_;
  Retention retention_;  // its thread uses what stands above
  CheckpointCatalog catalog_;
  BackgroundSaves background_;  // its thread uses what stands above
  CheckpointSaver saver_;
  CheckpointRestorer restorer_;
};

}  // namespace det::context
