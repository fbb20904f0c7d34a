// Activations, in other layers and as layers of their own.
#pragma once

#include <optional>

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// What a field says of an activation; "linear" where it is null.
std::string activation_name(Fields &fields, const char *key, const char *usual);

// The field of a layer that names an activation.
class NamedActivation {
 public:
  NamedActivation(Fields &fields, const char *key, const char *usual = "linear");

  // The part of it that another operation can do by the way; linear where it can do none.
  Activation fused() const;
  // Adds an operation that does fused(), and then what is left of the activation.
  Value add(ProgramBuilder &builder, const Operation &operation,
            const std::vector<Value> &inputs) const;
  // Adds all of it to what is there.
  Value add(ProgramBuilder &builder, Value x) const;

 private:
  std::optional<Activation> activation_;  // none: a softmax
  SoftmaxOp softmax_;
};

class ActivationLayer : public Layer {
 public:
  explicit ActivationLayer(Fields &fields) : Layer(fields), activation_(fields, "activation") {
    set_masking(Masking::passes);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const NamedActivation activation_;
};

// Over one axis, or over several of them together.
class SoftmaxLayer : public Layer {
 public:
  explicit SoftmaxLayer(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const Shape axes_;
};

// Its input as it is, which makes it a part of the loss.
class ActivityRegularization : public Layer {
 public:
  explicit ActivityRegularization(Fields &fields) : Layer(fields) {
    set_masking(Masking::passes);
    set_activity_regularizer(
        {static_cast<float>(fields.number("l1", 0)), static_cast<float>(fields.number("l2", 0))});
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &, const LayerCall &call) const override {
    return {only_input(call, name())};
  }
};

// Its input as it is, a single number that is a part of the loss.
class AddLoss : public Layer {
 public:
  explicit AddLoss(Fields &fields) : Layer(fields) {
    set_mixing(Mixing::nothing);
    fields.without_effect("unconditional");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;
};

class EluLayer : public Layer {
 public:
  explicit EluLayer(Fields &fields) : Layer(fields), alpha_(fields.number("alpha", 1)) {
    set_masking(Masking::passes);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const double alpha_;
};

class LeakyReluLayer : public Layer {
 public:
  explicit LeakyReluLayer(Fields &fields) : Layer(fields), alpha_(fields.number("alpha", 0.3)) {
    set_masking(Masking::passes);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const double alpha_;
};

// With a slope below 0 that is trained, of each place of a record or the same along some axes.
class PReluLayer : public Layer {
 public:
  explicit PReluLayer(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const WeightStyle alpha_;
  const Shape shared_axes_;
};

// As it is from the threshold to the largest value, if there is one; with a slope below.
class ReluLayer : public Layer {
 public:
  explicit ReluLayer(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  Operation operation() const;

  const std::optional<double> largest_;
  const double slope_, threshold_;
};

}  // namespace det::nn
