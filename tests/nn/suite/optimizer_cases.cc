#include "tests/nn/suite/optimizer_cases.h"

#include "tests/nn/suite/small_model.h"

namespace det::test {

namespace {

Json older(const char *class_name) {
  Json described = layer(class_name, Json::object());
  described["module"] = "keras.optimizers.legacy";
  return described;
}

}  // namespace

std::vector<Json> optimizers_of_each_rule() {
  return {
      layer("SGD", {{"learning_rate", 0.1}}),
      layer("SGD", {{"momentum", 0.9}}),
      layer("SGD", {{"momentum", 0.9}, {"nesterov", true}}),
      layer("MomentumOptimizer", {{"learning_rate", 0.1}, {"momentum", 0.9}}),
      layer("Lion", Json::object()),
      layer("Adam", Json::object()),
      layer("Adam", {{"amsgrad", true}}),
      layer("Adamax", Json::object()),
      layer("Nadam", Json::object()),
      layer("RMSprop", Json::object()),
      layer("RMSprop", {{"momentum", 0.5}}),
      layer("RMSprop", {{"centered", true}}),
      layer("RMSprop", {{"momentum", 0.5}, {"centered", true}}),
      older("RMSprop"),
      layer("Adadelta", Json::object()),
  };
}

std::vector<Json> optimizers_of_filled_slots() {
  return {layer("Adagrad", Json::object()), layer("Ftrl", Json::object()),
          layer("RMSPropOptimizer", Json::object())};
}

std::vector<Json> optimizers_that_do_more() {
  const auto sgd = [](Json config) {
    config["learning_rate"] = 0.1;
    return layer("SGD", std::move(config));
  };
  const Json falling =
      layer("InverseTimeDecay",
            {{"initial_learning_rate", 0.5}, {"decay_steps", 1}, {"decay_rate", 0.5}});
  return {
      sgd({{"clipnorm", 0.1}}),
      sgd({{"global_clipnorm", 0.1}}),
      sgd({{"clipvalue", 0.01}}),
      sgd({{"weight_decay", 0.5}}),
      sgd({{"use_ema", true}, {"ema_overwrite_frequency", 3}}),
      layer("AdamW", {{"use_ema", true}, {"ema_momentum", 0.9}}),
      layer("SGD", {{"learning_rate", falling}}),
      layer("LossScaleOptimizer", {{"inner_optimizer", "adam"}, {"dynamic_growth_steps", 2}}),
  };
}

}  // namespace det::test
