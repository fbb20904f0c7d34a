// What a trial is told of its training.
#pragma once

#include <det/keras.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wrappers/keras/data/trial_batch.h"

namespace det::keras {

class Trial;

struct Event {
  det_keras_event_kind kind;
  int64_t index = 0;
  int64_t batches = 0;
  const Metrics *metrics = nullptr;
  const std::filesystem::path *directory = nullptr;
};

// All ranks have the same callbacks.
class Callback {
 public:
  virtual ~Callback() = default;

  virtual void on(const Event &event) = 0;

  // Kept in checkpoints, where there is something.
  virtual std::optional<std::string> state() const = 0;
  virtual void load_state(const std::string &state) = 0;

  // Under which its state is found again; callbacks of one name are told apart by their order.
  virtual std::string name() const = 0;
  // Where true, other ranks than the chief do without it.
  virtual bool is_for_chief_only() const { return false; }
  // Before its first event. `key` is a name in files: of this callback, and of no other.
  virtual void attach(Trial & /*trial*/, det_nn_model & /*model*/, const std::string & /*key*/) {}
};

// All callbacks of a trial on this rank, in their order.
class Callbacks {
 public:
  // The trial and the model outlive it.
  Callbacks(const std::vector<std::shared_ptr<Callback>> &given, Trial &trial, det_nn_model &model);

  void tell(const Event &event) const;
  Json states() const;
  void load_states(const Json &states) const;

 private:
  struct Named {
    std::string key;
    std::shared_ptr<Callback> callback;
  };
  std::vector<Named> all_;
};

}  // namespace det::keras
