// Layers and how they are called on one another: a model as Keras describes it, which is also a
// layer. Layers without a "dtype" have that of the model's configuration: where Keras has a global
// policy.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

class Graph : public Layer {
 public:
  enum class Kind { sequential, functional };

  Graph(Fields &fields, Kind kind);

  // Of the whole, in the order in which they are given. A sequential model that does not say what
  // comes in has an input of which nothing is known: no sizes at all.
  struct Input {
    std::string name;
    ArrayType type;     // sizes that are not known are `unknown`
    std::string dtype;  // as Keras has it: "int64"
    bool is_known = true;
  };
  const std::vector<Input> &inputs() const { return inputs_; }
  // Of a batch of so many records; none where an input does not say all sizes beside that, unless
  // `open` is what these are to be.
  std::optional<std::vector<Shape>> input_shapes(int64_t records, int64_t open = unknown) const;
  // The names of the layers that the results come from.
  std::vector<std::string> result_names() const;
  const std::vector<std::shared_ptr<Layer>> &layers() const { return layers_; }

  bool computes_in(Dtype dtype) const override;

  // As Keras writes them: with all defaults, and how each is called.
  Json described_layers() const;

  // What a batch of these shapes is, as arrays that come with every one.
  LayerCall feed(ProgramBuilder &builder, const std::vector<Shape> &shapes) const;

  // As call(), without a scope of its own: of the outermost model.
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    return compute(builder, call, {});
  }
  // An input, or a call of a layer: what it gives, and the names of what it is called on.
  struct Called {
    const Layer *layer;  // null: an input
    std::string name;
    const std::vector<Value> &values;
    std::vector<std::string> called_on;
  };
  // `on_called` is told of all in their order; it may be empty.
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call,
                             const std::function<void(const Called &)> &on_called) const;

 private:
  struct Reference {
    size_t node;
    size_t output;
  };
  struct Node {
    std::shared_ptr<Layer> layer;  // none: an input
    size_t number = 0;             // of the calls of the layer within a functional model
    std::vector<Reference> inputs;
    std::map<std::string, Reference> named;
    Json options = Json::object();
  };
  class FunctionalReader;

  // Of a node's layer, or of the input that it is.
  const std::string &name_of(size_t node) const;
  Called called(size_t node, const std::vector<Value> &values) const;
  // What a node was called with, in errors: "(None, 4) by the layer 'dense' (Dense)".
  std::string described_inputs(const Node &node, const ProgramBuilder &builder,
                               const LayerCall &call) const;

  Json described_call(const Node &node) const;
  void read_sequential(Fields &fields);
  void add_input(const Json &config, const std::string &where);

  std::vector<Input> inputs_;
  std::vector<Node> nodes_;  // each after those that it is called on
  std::vector<Reference> results_;
  std::vector<std::shared_ptr<Layer>> layers_;
};

// The number of the first call of a layer within a functional model: a model within one has been
// called on its own inputs before.
inline size_t first_call_of(const Layer &layer) {
  return dynamic_cast<const Graph *>(&layer) != nullptr ? 1 : 0;
}

// From what Model.to_json() writes. Throws Code::invalid and Code::unsupported, naming the layer.
std::shared_ptr<Graph> read_model(const Json &described);

// The other way: what keras.models.model_from_json() reads.
Json write_model(const Graph &graph);

}  // namespace det::nn
