// A model of one layer, as small as can be.
#pragma once

#include "core/base/json.h"
#include "wrappers/nn/model/model.h"

namespace det::test {

inline Json described(const char *class_name, Json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}};
}

inline nn::Model dense_model(int64_t inputs, int64_t units, const char *activation = "linear") {
  const Json dense = {
      {"units", units}, {"activation", activation}, {"batch_input_shape", {nullptr, inputs}}};
  return {described("Sequential", {{"layers", Json::array({described("Dense", dense)})}}),
          {1, "reference"}};
}

}  // namespace det::test
