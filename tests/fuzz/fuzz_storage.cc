// Storage from any text or object: built, or refused with a reason. Nothing is made on disk.
#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/storage/storage.h"
#include "core/storage/storage_location.h"
#include "tests/temporary_directory.h"

namespace {

// Runs `make`; what it throws must be a refusal that the API documents.
template <class Make>
void build(Make make) {
  try {
    make();
  } catch (const det::Error &e) {
    if (e.code != det::Code::invalid && e.code != det::Code::unsupported) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const det::TemporaryDirectory empty;
  std::filesystem::current_path(empty.path());
  const std::string text(reinterpret_cast<const char *>(data), size);
  const auto logger = std::make_shared<det::Logger>(det::LogLevel::error);
  build([&] { det::storage::make_storage_from_uri(text, logger); });
  build([&] { det::storage::normalized_prefix(text); });
  build([&] {
    const det::Json config = det::parse_json(text, "checkpoint_storage");
    const auto storage = det::storage::make_storage(config, std::nullopt, logger);
    // What it says of itself builds it again.
    det::storage::make_storage(storage->config(), std::nullopt, logger);
    det::storage::make_storage(config, "/container", logger);
  });
  if (!std::filesystem::is_empty(empty.path())) std::abort();
  return 0;
}
