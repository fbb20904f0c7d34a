// Engines that compute a graph of operations, from the heuristic to the plan.
#pragma once

#include "tests/nn/emulated_cuda/emulated_descriptor.h"
#include "tests/nn/emulated_cuda/emulated_operation.h"

namespace emulated {

// What each plan wants to be given.
inline constexpr int64_t plan_workspace = 64;

void finalize_graph(Descriptor &graph);
void finalize_heuristic(Descriptor &heuristic);
void finalize_engine(Descriptor &engine);
void finalize_configuration(Descriptor &configuration);
void finalize_plan(Descriptor &plan);

// Fills the descriptors that the caller made, with configurations that a heuristic found or the
// engine of a configuration, as far as there is room. Gives how many there are.
int64_t fill_engines(const Descriptor &from, int64_t room, cudnnBackendDescriptor_t *to);

}  // namespace emulated
