// Inputs of a model that data have by name.
#pragma once

#include <det/nlohmann_json.hpp>
#include <det/nn.hpp>

namespace det {
inline namespace v1 {
namespace keras {
namespace detail {

class InputNames {
 public:
  InputNames() = default;
  // Those of a functional model; a sequential one has a single input, whatever it is called.
  explicit InputNames(const nn::Model &model) {
    const auto config = model.to_json().as<nlohmann::ordered_json>().at("config");
    if (!config.contains("input_layers")) return;
    for (const auto &input : config["input_layers"]) names_.push_back(input.at(0));
  }

  // As the model takes them: by their names where they have some, without those that it does not
  // know. Throws std::out_of_range, with the names that there are, where one is missing.
  [[nodiscard]] nn::Batch in_order(nn::Batch batch) const {
    if (batch.input_names.empty() || names_.empty() || batch.input_names == names_) return batch;
    std::vector<nn::Array> inputs;
    for (const std::string &name : names_) inputs.push_back(batch.feature(name));
    batch.inputs = std::move(inputs);
    batch.input_names = names_;
    return batch;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace detail
}  // namespace keras
}  // namespace v1
}  // namespace det
