// A layer: its configuration, and what it computes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/program/program_builder.h"
#include "wrappers/nn/weights/constraint.h"
#include "wrappers/nn/weights/initializer.h"
#include "wrappers/nn/weights/regularizer.h"

namespace det::nn {

// What a layer is called with.
struct LayerCall {
  std::vector<Value> inputs;
  std::map<std::string, Value> named;  // beside them, such as "value" and "key" of attention
  Json options = Json::object();       // "use_causal_mask": true

  // Among the options of a function of TensorFlow: its first argument, where that is a number.
  static constexpr const char *constant_argument = "_CONSTANT_VALUE";
};

// The fields of a layer that are named after a weight: NAME_initializer, NAME_regularizer and
// NAME_constraint.
struct WeightStyle {
  WeightStyle(Fields &fields, const std::string &name, const char *usual_initializer)
      : initializer(make_initializer(fields.any((name + "_initializer").c_str(), usual_initializer),
                                     fields.where())),
        regularizer(make_regularizer(fields.any((name + "_regularizer").c_str()), fields.where())),
        constraint(make_constraint(fields.any((name + "_constraint").c_str()), fields.where())) {}

  std::shared_ptr<const Initializer> initializer;
  Regularizer regularizer;
  std::shared_ptr<const Constraint> constraint;
};

// The class and the configuration are Keras', and so is what comes out. A layer holds no arrays:
// its weights belong to the model, under its name, and what a step keeps belongs to the step.
class Layer {
 public:
  explicit Layer(Fields &fields);
  virtual ~Layer() = default;
  Layer(const Layer &) = delete;
  Layer &operator=(const Layer &) = delete;

  const std::string &name() const { return name_; }
  const std::string &class_name() const { return class_name_; }
  // With all defaults filled in.
  const Json &config() const { return config_; }
  // Whether it, or a layer within it, computes in this type.
  virtual bool computes_in(Dtype dtype) const { return precision_ == dtype; }

  // Writes what it computes, within a scope of its name. Throws Code::invalid for inputs that do
  // not fit. As in Keras a layer of mixed precision takes real numbers in its type, and gives them
  // in it.
  std::vector<Value> call(ProgramBuilder &builder, const LayerCall &call) const;
  // As call(), with weights under the name of the layer that calls it, as Keras wraps layers.
  std::vector<Value> call_within(ProgramBuilder &builder, const LayerCall &call) const;

 protected:
  virtual std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const = 0;

  // Its weight of this name, as the layer computes with it; trained unless the layer is frozen, or
  // `is_state`.
  Value weight(ProgramBuilder &builder, const std::string &name, const Shape &shape,
               const std::shared_ptr<const Initializer> &initializer, bool is_state = false) const;
  Value weight(ProgramBuilder &builder, const std::string &name, const Shape &shape,
               const WeightStyle &style) const;
  bool is_trainable() const { return is_trainable_; }

  // For the constructors of layers that have this field, and of those that are nothing else: what
  // each call gives is a part of the loss, divided by the records of the batch.
  void read_activity_regularizer(Fields &fields);
  void set_activity_regularizer(const Regularizer &regularizer) { activity_ = regularizer; }

  // What becomes of the masks of what comes in. As Keras has it, the others lose them.
  enum class Masking {
    loses,
    passes,    // to the result, from the only input
    by_itself  // compute() says which results have one
  };
  void set_masking(Masking masking) { masking_ = masking; }

  // How a layer of mixed precision goes about it.
  enum class Mixing {
    everything,  // inputs, weights and what operations give are of its type
    ends,        // what comes in and what comes out is; between them it computes in F32
    results,     // only what comes out is
    nothing,     // it only calls layers, which have types of their own
  };
  void set_mixing(Mixing mixing) { mixing_ = mixing; }
  // Whether it is to compute as in training: the model is trained, unless this call says otherwise
  // ("training": false).
  static bool is_training(const ProgramBuilder &builder, const LayerCall &call);
  // 1 for what counts of the first input, else 0: what the call names "mask", or what that has.
  static std::optional<Value> mask_of(ProgramBuilder &builder, const LayerCall &call);

 private:
  std::vector<Value> call_under(const std::string &path, ProgramBuilder &builder,
                                const LayerCall &call) const;

  friend std::shared_ptr<Layer> make_layer(const Json &described);
  std::string name_;
  bool is_trainable_;
  Dtype precision_;
  Mixing mixing_ = Mixing::everything;
  Masking masking_ = Masking::loses;
  Regularizer activity_;
  std::string class_name_;
  Json config_;
};

// For layers of one input. Throws Code::invalid where there is another number.
Value only_input(const LayerCall &call, const std::string &layer);

// From {"class_name": ..., "config": {...}}, which has a name. Throws Code::invalid for an unknown
// class, with the nearest one, and for a configuration that cannot be.
std::shared_ptr<Layer> make_layer(const Json &described);

// "dense" for "Dense", "max_pooling2d" for "MaxPooling2D": how Keras names layers that have no
// name.
std::string snake_case(const std::string &class_name);

}  // namespace det::nn
