#include "wrappers/nn/losses/named_losses.h"

#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

namespace {

const std::vector<NamedLoss> &losses() {
  static const std::vector<NamedLoss> all{
      {"binary_crossentropy", LossKind::binary_crossentropy, {"bce"}},
      {"binary_focal_crossentropy", LossKind::binary_focal_crossentropy, {}},
      {"categorical_crossentropy", LossKind::categorical_crossentropy, {}},
      {"categorical_hinge", LossKind::categorical_hinge, {}},
      {"cosine_similarity", LossKind::cosine_similarity, {}},
      {"hinge", LossKind::hinge, {}},
      {"huber", LossKind::huber, {"huber_loss"}},
      {"kl_divergence", LossKind::kl_divergence, {"kld", "kullback_leibler_divergence"}},
      {"log_cosh", LossKind::log_cosh, {"log_cosh_error"}},
      {"mean_absolute_error", LossKind::absolute_error, {"mae"}},
      {"mean_absolute_percentage_error", LossKind::absolute_percentage_error, {"mape"}},
      {"mean_squared_error", LossKind::squared_error, {"mse"}},
      {"mean_squared_logarithmic_error", LossKind::squared_logarithmic_error, {"msle"}},
      {"poisson", LossKind::poisson, {}},
      {"squared_hinge", LossKind::squared_hinge, {}},
  };
  return all;
}

void read_smoothing(LossFunction &function, Fields &fields) {
  function.from_logits = fields.flag("from_logits", false);
  const double smoothing = fields.number("label_smoothing", 0);
  if (!(smoothing >= 0 && smoothing <= 1))
    throw Error(Code::invalid,
                "reading " + fields.where() + ": 'label_smoothing' must be between 0 and 1");
  function.smoothing = static_cast<float>(smoothing);
}

}  // namespace

const NamedLoss *find_loss(const std::string &name) {
  const std::string folded = folded_name(name);
  for (const NamedLoss &loss : losses()) {
    if (folded_name(loss.name) == folded) return &loss;
    for (const char *other : loss.others)
      if (folded_name(other) == folded) return &loss;
  }
  return nullptr;
}

bool is_sparse_crossentropy(const std::string &name) {
  return folded_name(name) == "sparsecategoricalcrossentropy";
}

std::vector<std::string> names_of_losses() {
  std::vector<std::string> names{"sparse_categorical_crossentropy"};
  for (const NamedLoss &loss : losses()) names.emplace_back(loss.name);
  return names;
}

LossFunction read_loss_function(const NamedLoss &loss, Fields &fields) {
  LossFunction function;
  function.kind = loss.kind;
  switch (loss.kind) {
    case LossKind::binary_focal_crossentropy:
      function.is_balanced = fields.flag("apply_class_balancing", false);
      function.alpha = static_cast<float>(fields.number("alpha", 0.25));
      function.gamma = static_cast<float>(fields.number("gamma", 2));
      [[fallthrough]];
    case LossKind::binary_crossentropy:
    case LossKind::categorical_crossentropy:
      read_smoothing(function, fields);
      break;
    case LossKind::huber:
      function.delta = static_cast<float>(fields.number("delta", 1));
      break;
    default:
      break;
  }
  return function;
}

bool has_axis(LossKind kind) {
  return kind == LossKind::binary_crossentropy || kind == LossKind::binary_focal_crossentropy ||
         kind == LossKind::categorical_crossentropy || kind == LossKind::cosine_similarity;
}

}  // namespace det::nn
