// A trial that a program describes by functions of C.
#pragma once

#include "wrappers/keras/both_faces.h"

// What a program says of its trial, while it builds it.
struct det_keras_context {
  explicit det_keras_context(keras::TrialContext &context) : trial(context) {}

  // Throws Code::state where the trial is built.
  void check_building(const char *tried) const;
  // Takes what can be said once.
  void take(const char *tried, std::optional<keras::InputData> &place, const det_keras_data *data);
  void set_model(const char *json, const char *compiled);
  [[nodiscard]] det_nn_model *model() const;

  keras::TrialContext &trial;
  std::optional<keras::TrialModel> described;
  std::optional<keras::InputData> training, validation;
  std::vector<std::shared_ptr<keras::Callback>> callbacks;
  bool is_built = false;
};

// The function that builds a trial, and what it is given.
struct Program {
  det_keras_build build;
  void *user_data;
};

class ProgramTrial : public keras::Trial {
 public:
  // Builds it.
  ProgramTrial(keras::TrialContext &context, const Program &program);

  keras::TrialModel build_model() override { return *said_.described; }
  keras::InputData build_training_data_loader() override { return *said_.training; }
  keras::InputData build_validation_data_loader() override { return *said_.validation; }
  std::vector<std::shared_ptr<keras::Callback>> keras_callbacks() override {
    return said_.callbacks;
  }

 private:
  det_keras_context said_;
};
