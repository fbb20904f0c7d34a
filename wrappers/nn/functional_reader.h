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
    std::vector<Json> inputs;  // references, as in `named`
    std::map<std::string, Json> named = {};
    Json options = Json::object();
    std::vector<const Json *> waits_for = {};  // what may not be there yet
    bool is_waiting = false;
  };
  using Place = std::pair<std::string, size_t>;  // a layer, and the number of a call of it

  void read_inputs(const Json &layers);
  void read_layers(const Json &layers);
  Call read_call(const std::string &layer, size_t number, const Json &inbound) const;
  void place_after_what_it_needs(Call &call);
  void place(const Call &call);
  static Place place_of(const Json &reference);
  std::optional<Reference> find(const Json &reference) const;
  std::vector<Json> references_in(const Json &list) const;
  [[noreturn]] void refuse(const std::string &problem) const;

  Graph &graph_;
  Fields &fields_;
  std::map<std::string, std::shared_ptr<Layer>> layers_;
  std::map<Place, Call> calls_;
  std::vector<Call *> written_;    // in their order
  std::map<Place, size_t> nodes_;  // of those that are in the graph
};

}  // namespace det::nn
