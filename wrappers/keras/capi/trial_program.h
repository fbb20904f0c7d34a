// What a program says of its trial by functions of C, as the trainer has it.
#pragma once

#include <det/keras.h>

#include <memory>
#include <optional>

#include "wrappers/keras/data/feed.h"
#include "wrappers/keras/data/fit_options.h"
#include "wrappers/keras/run/workload_source.h"
#include "wrappers/keras/training/keras_loop.h"
#include "wrappers/keras/training/ranks_in_step.h"
#include "wrappers/keras/training/trainer.h"

// A trial, and what a program has said of it.
struct det_keras_context {
  explicit det_keras_context(det::keras::Trial made) : trial(std::move(made)) {}

  // Throws Code::state where the trial is built.
  void check_building(const char *tried) const;
  // Also where its model is said already.
  void check_model() const;
  // Takes what can be said once.
  void take(const char *tried, det::keras::TrialData &place, const det_keras_data *data) const;

  det::keras::Trial trial;
  det::keras::FitOptions fit;
  det::keras::Description said;
  std::unique_ptr<det_nn_model> own_model;  // that was made of a description
  std::unique_ptr<det::keras::Loop> loop;   // in the place of all that is said
  bool is_built = false;
};

struct det_keras_ranks {
  explicit det_keras_ranks(det::keras::RanksInStep &ranks) : impl(ranks) {}
  det_keras_ranks(det_distributed_context *job, det_nn_model &model, const det::Json &optimizations)
      : own(std::make_unique<det::keras::RanksInStep>(job, model, optimizations)), impl(*own) {}

  const std::unique_ptr<det::keras::RanksInStep> own;  // of a program's; those of a trial are lent
  det::keras::RanksInStep &impl;
  det::nn::Batch batch;  // of the last call: its room is used again
};

namespace det::keras {

// The code as it is; Code::callback for what is none.
Code code_of_program(det_status status);

// `context` outlives what is made by these.
std::shared_ptr<Callback> program_callback(const det_keras_callback *given,
                                           det_keras_context &context);
std::unique_ptr<Loop> program_loop(const det_keras_loop *given, det_keras_context &context);
std::unique_ptr<WorkloadSource> program_workloads(const det_keras_workloads *given);
// Has the program build the trial, and gives what then trains it.
std::unique_ptr<Loop> build_trial(det_keras_context &context, det_keras_build build,
                                  void *user_data);

}  // namespace det::keras
