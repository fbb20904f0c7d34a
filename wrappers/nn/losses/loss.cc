#include "wrappers/nn/losses/loss.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/arrays/array_copy.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/layers/last_axes.h"
#include "wrappers/nn/losses/named_losses.h"

namespace det::nn {

namespace {

Reduction read_reduction(Fields &fields) {
  const std::string reduction = fields.text("reduction", "auto");
  if (reduction == "sum") return Reduction::sum;
  if (reduction == "none") return Reduction::none;
  if (reduction == "auto" || reduction == "sum_over_batch_size") return Reduction::mean;
  throw Error(Code::invalid,
              "reading " + fields.where() + ": there is no reduction '" + reduction + "'" +
                  suggestion(reduction, {"auto", "none", "sum", "sum_over_batch_size"}));
}

int32_t ignored_class(Fields &fields) {
  const int64_t label = fields.integer("ignore_class");
  if (std::in_range<int32_t>(label)) return static_cast<int32_t>(label);
  throw Error(Code::invalid, "reading " + fields.where() + ": 'ignore_class' is " +
                                 std::to_string(label) + ", and labels have 32 bits");
}

class SparseCategoricalCrossentropy : public Loss {
 public:
  explicit SparseCategoricalCrossentropy(Fields &fields)
      : Loss(read_reduction(fields)), from_logits_(fields.flag("from_logits", false)) {
    if (!fields.has("ignore_class")) fields.only_null("ignore_class");
    else ignored_label_ = ignored_class(fields);
  }

  std::string name() const override { return "sparse_categorical_crossentropy"; }

  ArrayType truth_for(const ArrayType &prediction) const override {
    Shape rows = prediction.shape;
    if (!rows.empty()) rows.pop_back();
    return {rows, Dtype::i32};
  }

  void check(const Array &truth, const Array &given, const ArrayType &prediction) const override {
    const int64_t classes = prediction.shape.back();
    const auto labels = truth.elements<int32_t>();
    const auto refuse = [&](size_t i, const std::string &why) {
      const size_t of_record = labels.size() / static_cast<size_t>(truth.shape()[0]);
      throw Error(Code::invalid, "comparing with the labels of a batch: that of record " +
                                     std::to_string(i / of_record) + " is " +
                                     element_text(given, i) + why);
    };
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] >= 0 && labels[i] < classes) continue;
      const std::string text = element_text(given, i);
      if (text == "NaN") refuse(i, ", which is no class");
      if (counts(labels[i]))
        refuse(i, "; the prediction has the classes 0 to " + std::to_string(classes - 1));
    }
  }

  bool counts(int32_t label) const override { return label != ignored_label_; }

  std::optional<Value> counted(ProgramBuilder &builder, Value truth) const override {
    if (!ignored_label_) return {};
    const FunctionOp differs{Function::differs, static_cast<float>(*ignored_label_)};
    return builder.add(differs, {truth});
  }

  Value add(ProgramBuilder &builder, Value truth, Value prediction,
            std::optional<Value> weights) const override {
    const auto logits = builder.before_softmax(prediction);
    std::vector<Value> inputs{logits.value_or(prediction), truth};
    if (weights) inputs.push_back(*weights);
    const bool are_logits = from_logits_ || logits;
    const bool is_plain = are_logits && !is_sum() && !ignored_label_ &&
                          (!weights || builder.shape(*weights) == builder.shape(truth));
    if (is_plain) return builder.add(SparseCrossEntropyOp{}, inputs);
    return builder.add(SparseLossOp{are_logits, ignored_label_, is_sum()}, inputs);
  }

 private:
  const bool from_logits_;
  std::optional<int32_t> ignored_label_;
};

// A row is of one record: each rank has only some of a batch.
int64_t read_axis(const LossFunction &function, Fields &fields) {
  const int64_t axis = has_axis(function.kind) ? fields.integer("axis", -1) : -1;
  if (axis != 0) return axis;
  throw Error(Code::unsupported, "reading " + fields.where() +
                                     ": 'axis' is 0, that of the batch, which is not supported");
}

// Of what is true of the same shape as the prediction.
class FunctionLoss : public Loss {
 public:
  FunctionLoss(std::string name, const LossFunction &function, Reduction reduction, int64_t axis)
      : Loss(reduction, axis), name_(std::move(name)), function_(function) {}

  std::string name() const override { return name_; }

  ArrayType truth_for(const ArrayType &prediction) const override {
    return {prediction.shape, Dtype::f32};
  }

  Value add(ProgramBuilder &builder, Value truth, Value prediction,
            std::optional<Value> weights) const override {
    if (axis() != -1) {
      const LastAxes last(builder.shape(prediction), {axis()}, "comparing by the loss " + name_);
      prediction = last.put_last(builder, prediction);
      truth = last.put_last(builder, truth);
    }
    LossFunction function = function_;
    if (const auto logits = logits_below(builder, prediction)) {
      prediction = *logits;
      function.from_logits = true;
    }
    std::vector<Value> inputs{prediction, truth};
    if (weights) inputs.push_back(*weights);
    return builder.add(LossOp{function, is_sum()}, inputs);
  }

 private:
  // Of probabilities that a softmax or a sigmoid gives, what went into it is taken: that loses
  // nothing.
  std::optional<Value> logits_below(ProgramBuilder &builder, Value prediction) const {
    switch (function_.kind) {
      case LossKind::categorical_crossentropy:
        return builder.before_softmax(prediction);
      case LossKind::binary_crossentropy:
      case LossKind::binary_focal_crossentropy:
        return builder.before_activation(prediction, Activation::sigmoid);
      default:
        return std::nullopt;
    }
  }

  const std::string name_;
  const LossFunction function_;
};

}  // namespace

ArrayType Loss::weights_for(const Shape &prediction, size_t axes) const {
  const bool has_last = axis_ == -1 || axis_ + 1 == static_cast<int64_t>(prediction.size());
  const size_t most = has_last ? std::max<size_t>(prediction.size(), 2) - 1 : 1;
  Shape shape = prediction;
  shape.resize(std::min(std::max<size_t>(axes, 1), most));
  return {shape, Dtype::f32};
}

Value Loss::told(ProgramBuilder &builder, Value added, Value prediction) const {
  if (!tells_other()) return added;
  Shape rows_by_axes = builder.shape(prediction);
  rows_by_axes[axis_of(rows_by_axes, axis_, "telling a loss")] = 1;
  const int64_t rows = elements_of(rows_by_axes);
  return builder.add(ScaleOp{1 / static_cast<float>(std::max<int64_t>(rows, 1))}, {added});
}

std::shared_ptr<const Loss> make_loss(const Json &config) {
  const NamedConfig named = named_config(config, "a loss");
  Fields fields(named.config, "the loss " + named.name);
  for (const char *key : {"name", "fn"}) fields.without_effect(key);
  std::shared_ptr<const Loss> loss;
  if (is_sparse_crossentropy(named.name)) {
    loss = std::make_shared<SparseCategoricalCrossentropy>(fields);
  } else if (const NamedLoss *known = find_loss(named.name)) {
    const LossFunction function = read_loss_function(*known, fields);
    loss = std::make_shared<FunctionLoss>(known->name, function, read_reduction(fields),
                                          read_axis(function, fields));
  } else {
    refuse_name(named.name, "loss", names_of_losses());
  }
  fields.finish();
  return loss;
}

}  // namespace det::nn
