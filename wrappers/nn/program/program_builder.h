// Writes a program: layers call it, and say by that all there is to say of them - which weights
// they have, what comes out, and what is computed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wrappers/nn/program/model_program.h"
#include "wrappers/nn/weights/weights.h"

namespace det::nn {

class ProgramBuilder {
 public:
  ProgramBuilder(Weights &weights, bool is_training)
      : weights_(weights), is_training_(is_training) {}

  bool is_training() const { return is_training_; }

  // An array that comes with every batch.
  Value feed(const ArrayType &type, bool has_gradient = false);
  // Numbers that a layer was configured with.
  Value constant(const Array &numbers);
  // The weight of the layer that is being called, made when it is first named.
  Value weight(const std::string &name, const WeightOptions &options);
  // Throws Code::invalid, naming the layer, where the inputs do not fit.
  std::vector<Value> add_all(const Operation &operation, const std::vector<Value> &inputs);
  Value add(const Operation &operation, const std::vector<Value> &inputs);
  // The numbers of a value as this type has them: itself, where it is of that type, where the type
  // is F32, and where they are no real numbers.
  Value rounded(Value value, Dtype to);
  // In which the layer computes that is being called: of what operations are given and give.
  Dtype precision() const { return precision_; }

  const ArrayType &type(Value value) const { return program_.values.at(value).type; }
  // The step that computes it; null for what is fed, and for weights.
  const Program::Step *producer(Value value) const;
  const Shape &shape(Value value) const { return type(value).shape; }
  // Which elements of a value count: 1 or 0 for each of its first axes, the batch and the steps;
  // none where all of them do. It belongs to the value: layers that pass it on say so.
  std::optional<Value> mask(Value value) const;
  void set_mask(Value value, Value mask) { masks_[value] = mask; }

  // What goes into the softmax, or the activation, that gives it; none where something else does.
  // An activation that is part of another operation becomes one of its own for that.
  std::optional<Value> before_softmax(Value value) const;
  std::optional<Value> before_activation(Value value, Activation activation);

  // While it lives, weights are under this path ("dense/") and errors those of this layer, within
  // those that are called already, and operations are computed in `precision`.
  class Scope {
   public:
    Scope(ProgramBuilder &builder, const std::string &path, const std::string &described,
          Dtype precision);
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope();

   private:
    ProgramBuilder &builder_;
    const size_t path_;
    const std::string layer_;
    const Dtype precision_;
  };

  // Makes what a layer gives a part of the loss, of which each record of the batch has its share.
  void regularize_activity(Value value, Regularizer regularizer);
  // What has a regularizer: weights, each once however often its layer is called, and activities.
  const std::vector<std::pair<Value, Regularizer>> &regularized() const { return regularized_; }
  // Makes a single number a part of the loss.
  void add_to_loss(Value value) { added_losses_.push_back(value); }
  const std::vector<Value> &added_losses() const { return added_losses_; }

  Program finish(const std::vector<Value> &results);

 private:
  Value push(Program::ValueFacts facts);
  // Names the layer that is being called in errors.
  template <class Action>
  void within_layer(Action action) const;

  Weights &weights_;
  const bool is_training_;
  Program program_;
  std::unordered_map<size_t, Value> weight_values_;
  std::vector<std::pair<Value, Regularizer>> regularized_;
  std::vector<Value> added_losses_;
  std::map<std::pair<Value, Dtype>, Value> rounded_;
  std::unordered_map<Value, Value> masks_;
  std::string path_;   // "encoder/dense_1/"
  std::string layer_;  // "dense_1 (Dense)"
  Dtype precision_ = Dtype::f32;
};

}  // namespace det::nn
