// Any text in place of a model: understood, or refused with a code that says so; what is understood
// is written, read and written again the same, and summarised.
#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/model/graph.h"
#include "wrappers/nn/model/model_summary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace det;
  try {
    const Json described = parse_json({reinterpret_cast<const char *>(data), size}, "a model");
    const Json written = nn::write_model(*nn::read_model(described));
    const auto graph = nn::read_model(written);
    if (to_wire(nn::write_model(*graph)) != to_wire(written)) std::abort();
    nn::Weights weights;
    nn::ProgramBuilder builder(weights, true);
    std::vector<nn::Shape> shapes;
    for (const nn::Graph::Input &input : graph->inputs()) {
      shapes.push_back(input.type.shape);
      std::replace(shapes.back().begin(), shapes.back().end(), nn::unknown, int64_t{1});
    }
    builder.finish(graph->compute(builder, graph->feed(builder, shapes)));
    nn::summary_of(*graph, shapes, shapes);
    if (const auto some = graph->input_shapes(2, 64))
      nn::summary_of(*graph, *some, *graph->input_shapes(3, 128));
  } catch (const Error &e) {
    if (e.code != Code::invalid && e.code != Code::unsupported) std::abort();
  }
  return 0;
}
