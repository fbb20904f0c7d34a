#include "wrappers/keras/callbacks/callback.h"

#include "wrappers/keras/run/running_trial.h"

namespace det::keras {

Callbacks::Callbacks(const std::vector<std::shared_ptr<Callback>> &given, Trial &trial,
                     det_nn_model &model) {
  std::map<std::string, size_t> seen;
  for (const auto &one : given) {
    const std::string key = one->name() + "#" + std::to_string(seen[one->name()]++);
    if (one->is_for_chief_only() && trial.rank() != 0) continue;
    one->attach(trial, model, key);
    all_.push_back({key, one});
  }
}

void Callbacks::tell(const Event &event) const {
  for (const auto &[key, callback] : all_) callback->on(event);
}

Json Callbacks::states() const {
  Json states = Json::object();
  for (const auto &[key, callback] : all_)
    if (std::optional<std::string> state = callback->state()) states[key] = std::move(*state);
  return states;
}

void Callbacks::load_states(const Json &states) const {
  for (const auto &[key, callback] : all_)
    if (const auto found = states.find(key); found != states.end())
      callback->load_state(found->get<std::string>());
}

}  // namespace det::keras
