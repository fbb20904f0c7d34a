// Any text in place of a model: understood, or refused with a code that says so; what is understood
// is written, read and written again the same. Its weights are asked for only where they are few.
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace det;
  try {
    const Json described = parse_json({reinterpret_cast<const char *>(data), size}, "a model");
    const Json written = nn::write_model(*nn::read_model(described));
    const auto graph = nn::read_model(written);
    if (to_wire(nn::write_model(*graph)) != to_wire(written)) std::abort();
    nn::Weights weights;
    nn::ProgramBuilder builder(weights, true);
    nn::LayerCall call;
    for (const nn::Graph::Input &input : graph->inputs()) {
      nn::ArrayType type = input.type;
      for (int64_t &length : type.shape)
        if (length == nn::unknown) length = 1;
      call.inputs.push_back(builder.feed(type));
    }
    builder.finish(graph->compute(builder, call));
  } catch (const Error &e) {
    if (e.code != Code::invalid && e.code != Code::unsupported) std::abort();
  }
  return 0;
}
