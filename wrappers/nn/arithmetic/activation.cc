#include "wrappers/nn/arithmetic/activation.h"

#include <array>
#include <vector>

#include "core/base/error.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

namespace {

struct Named {
  const char *name;
  Activation activation;
};

// The first name of each is the one that is written. "gelu" is exact, as in Keras.
constexpr std::array<Named, 16> names{{{"linear", Activation::linear},
                                       {"relu", Activation::relu},
                                       {"relu6", Activation::relu6},
                                       {"sigmoid", Activation::sigmoid},
                                       {"tanh", Activation::tanh},
                                       {"elu", Activation::elu},
                                       {"selu", Activation::selu},
                                       {"softplus", Activation::softplus},
                                       {"softsign", Activation::softsign},
                                       {"exponential", Activation::exponential},
                                       {"hard_sigmoid", Activation::hard_sigmoid},
                                       {"silu", Activation::silu},
                                       {"swish", Activation::silu},
                                       {"gelu", Activation::gelu},
                                       {"mish", Activation::mish},
                                       {"leaky_relu", Activation::leaky_relu}}};

}  // namespace

Activation activation_named(std::string_view name, const std::string &where) {
  std::vector<std::string> known{"softmax", "log_softmax"};
  for (const Named &named : names) {
    if (name == named.name) return named.activation;
    known.emplace_back(named.name);
  }
  throw Error(Code::invalid, "reading " + where + ": there is no activation '" + std::string(name) +
                                 "'" + suggestion(name, known));
}

const char *name_of(Activation activation) {
  for (const Named &named : names)
    if (named.activation == activation) return named.name;
  return "gelu";  // the approximate one is another with the same name
}

bool derives_from_result(Activation activation) {
  return activation == Activation::linear || activation == Activation::relu ||
         activation == Activation::sigmoid || activation == Activation::tanh;
}

}  // namespace det::nn
