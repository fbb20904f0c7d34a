#include "core/engine/store.h"

namespace det::engine {

Store::Store(std::filesystem::path directory, bool create, StoreOptions options)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      database_(open_store(directory_, create, options_)),
      waking_(make_fifo_waking(directory_, {options_.recheck, options_.on_network})) {}

}  // namespace det::engine
