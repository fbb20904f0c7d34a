#include "core/codec/version.h"

#include <array>
#include <charconv>

namespace det::codec {

WireVersion wire_version(std::string_view master) {
  std::array<int, 3> parts{};
  if (master.starts_with('v')) master.remove_prefix(1);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto [end, error] =
        std::from_chars(master.data(), master.data() + master.size(), parts.at(i));
    if (error == std::errc::result_out_of_range || (error != std::errc() && i == 0))
      return WireVersion::v0_38;
    if (error != std::errc()) break;
    master.remove_prefix(static_cast<size_t>(end - master.data()));
    if (!master.starts_with('.')) break;
    master.remove_prefix(1);
  }
  if (parts >= std::array{0, 38, 0}) return WireVersion::v0_38;
  // The first whose clients announce each start of a run.
  return parts >= std::array{0, 28, 1} ? WireVersion::v0_33 : WireVersion::v0_19;
}

const char *name_of(WireVersion version) {
  static constexpr std::array names{"0.19", "0.33", "0.38"};
  return names.at(static_cast<size_t>(version));
}

}  // namespace det::codec
