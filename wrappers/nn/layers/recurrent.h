// LSTM, GRU and SimpleRNN: one state after another, along the axis behind the batch.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// What all of them are configured with.
class Recurrent : public Layer {
 public:
  bool returns_sequences() const { return returns_sequences_; }
  bool returns_state() const { return returns_state_; }
  bool goes_backwards() const { return goes_backwards_; }

 protected:
  explicit Recurrent(Fields &fields);

  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

  // The operation, and how its weights are.
  virtual Operation operation(const GateDropout &dropout, const RecurrentExtras &extras) const = 0;
  // How many kinds of states it has.
  virtual size_t kinds() const { return 1; }
  // Whether Keras computes it as one function of the whole input, as GPUs have it.
  virtual bool is_of_gpus() const { return false; }
  virtual int64_t gates() const = 0;
  virtual const char *cell() const = 0;  // "lstm_cell", as Keras names it
  virtual Shape bias_shape() const { return {gates() * units_}; }

  const int64_t units_;
  const Activation activation_;
  const bool goes_backwards_;
  WeightStyle bias_;
  const bool has_bias_;

 private:
  // What is left out of x before the operation; x where that is nothing.
  Value dropped(ProgramBuilder &builder, Value x) const;
  // Whether each gate leaves out something else.
  bool drops_by_gates() const;

  // What comes in beside x: the mask that it has or is called with, and states to begin with.
  std::vector<Value> extras(ProgramBuilder &builder, const LayerCall &call,
                            RecurrentExtras &extras) const;

  const bool returns_sequences_, returns_state_, is_unrolled_;
  const WeightStyle kernel_, recurrent_;
  const float dropout_, recurrent_dropout_;
  const bool has_gates_apart_;  // Keras' implementation 1
  const bool zeroes_masked_;
};

class Lstm : public Recurrent {
 public:
  explicit Lstm(Fields &fields);

 private:
  Operation operation(const GateDropout &dropout, const RecurrentExtras &extras) const override {
    return LstmOp{activation_, recurrent_activation_, goes_backwards_, dropout, extras};
  }
  bool is_of_gpus() const override;
  size_t kinds() const override { return 2; }
  int64_t gates() const override { return 4; }
  const char *cell() const override { return "lstm_cell"; }

  const Activation recurrent_activation_;
};

class Gru : public Recurrent {
 public:
  explicit Gru(Fields &fields);

 private:
  Operation operation(const GateDropout &dropout, const RecurrentExtras &extras) const override {
    return GruOp{activation_, recurrent_activation_, goes_backwards_, resets_after_, dropout,
                 extras};
  }
  bool is_of_gpus() const override;
  int64_t gates() const override { return 3; }
  const char *cell() const override { return "gru_cell"; }
  Shape bias_shape() const override;

  const Activation recurrent_activation_;
  const bool resets_after_;
};

class SimpleRnn : public Recurrent {
 public:
  explicit SimpleRnn(Fields &fields) : Recurrent(fields) {}

 private:
  Operation operation(const GateDropout &dropout, const RecurrentExtras &extras) const override {
    return SimpleRnnOp{activation_, goes_backwards_, dropout, extras};
  }
  int64_t gates() const override { return 1; }
  const char *cell() const override { return "simple_rnn_cell"; }
};

}  // namespace det::nn
