#include "core/codec/searcher.h"

namespace det {

Operation configured_operation(const Json &experiment_config) {
  const Json searcher =
      experiment_config.is_object() ? experiment_config.value("searcher", Json()) : Json();
  Json length = searcher.is_object() ? searcher.value("max_length", Json()) : Json();
  if (length.is_object() && length.size() == 1) length = Json(length.front());
  if (!length.is_number_unsigned())
    throw Error(Code::invalid,
                "asking for the next operation: the experiment's configuration has no "
                "searcher.max_length, such as 100 or {\"epochs\": 10}; add one");
  return {length.get<uint64_t>()};
}

}  // namespace det
