// Trains as Keras does: epochs, batches and validations, of which callbacks are told.
#pragma once

#include "wrappers/keras/callbacks/callback.h"
#include "wrappers/keras/data/feed.h"
#include "wrappers/keras/data/fit_options.h"
#include "wrappers/keras/training/ranks_in_step.h"
#include "wrappers/keras/training/trainer.h"

namespace det::keras {

// What a program says of its trial.
struct Description {
  det_nn_model *model = nullptr;
  TrialData training, validation;
  std::vector<std::shared_ptr<Callback>> callbacks;
};

class KerasLoop : public Loop {
 public:
  // All outlive it. Throws Code::invalid for arrays that are no data.
  KerasLoop(Trial &trial, const Description &said, const FitOptions &fit);

  const Names &names() const override;
  det_nn_model &begin(const Checkpoint &checkpoint) override;
  void start(RanksInStep &ranks, const Checkpoint &checkpoint) override;
  Trained train(int64_t batches) override;
  Validated validate(std::optional<int64_t> most) override;
  void save(const std::filesystem::path &directory) override;
  void end(bool has_failed) override;

 private:
  // Where the trial is between two workloads, beside the model.
  struct Progress {
    int64_t epoch = 0;
    int64_t batches_of_epoch = 0;
    int64_t total_batches = 0;
    bool wants_epoch_begin = true;
  };

  TrialBatch in_order(TrialBatch batch) const;
  void train_one();
  Metrics metrics() const;
  Metrics averaged(const Json &of_all_ranks) const;
  void tell(det_keras_event_kind kind, int64_t index = 0, const Metrics *metrics = nullptr,
            int64_t batches = 0) const;

  Trial &trial_;
  det_nn_model &model_;
  const FitOptions &fit_;
  const Feed training_, validation_;
  const std::vector<std::string> input_names_;  // none of a model that has a single input
  const Callbacks callbacks_;
  const std::optional<int64_t> batches_per_epoch_;
  RanksInStep *ranks_ = nullptr;
  Feed::Next next_to_train_;
  Progress progress_;
};

}  // namespace det::keras
