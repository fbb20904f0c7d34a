// Reads the layers of a functional model and their calls, in whatever order they are written.
#pragma once

#include "wrappers/nn/graph.h"

namespace det::nn {

class Graph::FunctionalReader {
 public:
  FunctionalReader(Graph &graph, Fields &fields) : graph_(graph), fields_(fields) {}

  void read();

 private:
  // The n-th call of a layer, as "inbound_nodes" has it.
  struct Call {
    std::string layer;
    size_t number;
    const Json *inbound;
  };

  void read_inputs(const Json &layers);
  std::vector<Call> read_layers(const Json &layers);
  bool try_to_place(const Call &call);
  std::optional<Reference> find(const Json &reference) const;
  std::vector<Json> references_in(const Json &list) const;
  [[noreturn]] void refuse(const std::string &problem) const;

  Graph &graph_;
  Fields &fields_;
  std::map<std::string, std::shared_ptr<Layer>> layers_;
  std::map<std::pair<std::string, size_t>, size_t> nodes_;  // by layer and number of the call
};

}  // namespace det::nn
