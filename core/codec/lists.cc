#include "core/codec/lists.h"

#include <array>

namespace det::codec {

std::span<const char *const> wire_names(ListOrder) {
  static constexpr std::array names{"ORDER_BY_UNSPECIFIED", "ORDER_BY_ASC", "ORDER_BY_DESC"};
  return names;
}

}  // namespace det::codec
