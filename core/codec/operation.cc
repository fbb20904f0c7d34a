#include "core/codec/operation.h"

#include "core/search/single.h"

namespace det::codec {

Operation configured_operation(const Json &experiment_config) {
  const Json searcher =
      experiment_config.is_object() ? experiment_config.value("searcher", Json()) : Json();
  const Json length = searcher.is_object() ? searcher.value("max_length", Json()) : Json();
  if (length.is_null() || (length.is_object() && length.empty()))
    throw Error(Code::invalid,
                "asking for the next operation: the experiment's configuration has no "
                "searcher.max_length, such as 100 or {\"epochs\": 10}; add one");
  return {search::single_length(experiment_config)};
}

}  // namespace det::codec
