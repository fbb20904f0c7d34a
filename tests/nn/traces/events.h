// What happens in a trial, as the recorded runs of tests/data/trials say it: an array on each line.
#pragma once

#include <cstdio>
#include <det/nlohmann_json.hpp>
#include <det/nn.hpp>

namespace traces {

using Json = nlohmann::ordered_json;

inline void say(const Json &event) {
  std::printf("%s\n", det::Json(event).text().c_str());
  std::fflush(stdout);
}

// The weights that are trained, one after the other.
inline Json weights_of(const det::nn::Model &model) {
  Json all = Json::array();
  const std::vector<det::Tensor> weights = model.weights();
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto *first = static_cast<const float *>(weights[i].data);
    if (model.is_trained(i))
      all.push_back(std::vector<float>(first, first + weights[i].elements()));
  }
  return all;
}

}  // namespace traces
