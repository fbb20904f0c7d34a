// All optimizers by their names.
#include <map>

#include "core/base/error.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/optimizers/editions.h"

namespace det::nn {

namespace {

using MakeOptimizer = std::unique_ptr<Optimizer> (*)(Fields &fields, Edition edition);

template <std::unique_ptr<Optimizer> (*make)(Fields &)>
std::unique_ptr<Optimizer> in_all_editions(Fields &fields, Edition) {
  return make(fields);
}

const std::map<std::string, MakeOptimizer> &optimizers() {
  static const std::map<std::string, MakeOptimizer> all{
      {"adadelta", in_all_editions<make_adadelta>},
      {"adagrad", make_adagrad},
      {"adam", make_adam},
      {"adamax", make_adamax},
      {"adamw", in_all_editions<make_adamw>},
      {"ftrl", in_all_editions<make_ftrl>},
      {"lion", in_all_editions<make_lion>},
      {"nadam", make_nadam},
      {"rmsprop", make_rmsprop},
      {"sgd", make_sgd},
  };
  return all;
}

// "AdagradOptimizer" of TensorFlow 1 is "adagrad".
std::string of_v1(const std::string &name) {
  const std::string ending = "optimizer";
  if (!name.ends_with(ending)) return name;
  const std::string stem = name.substr(0, name.size() - ending.size());
  return stem == "gradientdescent" || stem == "momentum" ? "sgd" : stem;
}

std::unique_ptr<Optimizer> make_scaled(const NamedConfig &named) {
  Fields fields(named.config, "the optimizer " + named.name);
  auto optimizer = make_optimizer(fields.any("inner_optimizer"));
  if (optimizer->loss_scale())
    throw Error(Code::invalid, "reading " + fields.where() + ": the loss is scaled twice");
  optimizer->scale_loss(LossScale(fields));
  fields.finish();
  return optimizer;
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const Json &config) {
  const NamedConfig named = named_config(config, "an optimizer");
  const std::string folded = folded_name(named.name);
  // The second is that of Keras' newer optimizers.
  if (folded == "lossscaleoptimizer" || folded == "lossscaleoptimizerv3") return make_scaled(named);
  const std::string name = of_v1(folded);
  const auto known = optimizers().find(name);
  if (known == optimizers().end()) refuse_name(named.name, "optimizer", keys_of(optimizers()));
  const bool is_legacy = named.module.find("legacy") != std::string::npos;
  const Edition edition = name != folded ? Edition::v1
                          : is_legacy    ? Edition::legacy
                                         : Edition::keras;
  Fields fields(named.config, "the optimizer " + named.name);
  auto optimizer = known->second(fields, edition);
  if (edition == Edition::legacy && name != "nadam")
    optimizer->divide_by_steps(fields.number("decay", 0));
  fields.finish();
  return optimizer;
}

}  // namespace det::nn
