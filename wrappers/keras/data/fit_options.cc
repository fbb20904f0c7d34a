#include "wrappers/keras/data/fit_options.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/configuration/keras_fields.h"

namespace det::keras {

namespace {

[[noreturn]] void refuse(const std::string &why) {
  throw Error(Code::invalid, "configuring a trial: " + why);
}

}  // namespace

void FitOptions::configure(const Json &given) {
  nn::Fields fields(given, "how a trial is trained");
  FitOptions said = *this;
  said.verbose = fields.flag("verbose", verbose);
  said.shuffle = fields.flag("shuffle", shuffle);
  said.workers = fields.integer("workers", workers);
  said.max_queue_size = fields.integer("max_queue_size", max_queue_size);
  const auto is_said = [&](const char *key) {
    if (!fields.has(key)) fields.any(key);  // is known
    return fields.is_given(key);
  };
  if (is_said("validation_steps")) {
    said.validation_steps.reset();
    if (fields.has("validation_steps")) said.validation_steps = fields.integer("validation_steps");
  }
  if (is_said("class_weight")) {
    said.class_weights.clear();
    if (fields.has("class_weight")) said.class_weights = fields.any_numbers("class_weight");
  }
  fields.finish();

  if (said.workers < 0) refuse("there are 0 workers or more, not " + std::to_string(said.workers));
  if (said.max_queue_size < 1)
    refuse("one batch or more is made ahead, not " + std::to_string(said.max_queue_size) +
           " (max_queue_size)");
  if (said.validation_steps.value_or(1) < 1)
    refuse("a validation has one batch or more, not " + std::to_string(*said.validation_steps) +
           " (validation_steps)");
  for (size_t label = 0; label < said.class_weights.size(); ++label)
    if (!std::isfinite(said.class_weights[label]))
      throw Error(Code::invalid,
                  "weighting classes: the weight of " + std::to_string(label) + " is no number");
  *this = std::move(said);
}

}  // namespace det::keras
