// Any bytes in place of a manifest: understood, or Code::corrupt; what is understood survives being
// written, and verifying by it never leaves the checkpoint.
#include <cstdlib>
#include <fstream>

#include "core/base/error.h"
#include "core/storage/manifest.h"
#include "tests/temporary_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const det::TemporaryDirectory directory;
  static const det::storage::Tree root(directory.path());
  std::ofstream(directory / det::storage::manifest_name, std::ios::binary)
      .write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(size));
  try {
    const auto manifest = det::storage::read_manifest(root);
    if (!manifest) std::abort();
    std::filesystem::remove(directory / det::storage::manifest_name);
    det::storage::write_manifest(root, *manifest);
    if (det::storage::read_manifest(root)->size() != manifest->size()) std::abort();
    for (const auto &[path, entry] : *manifest)
      if (!det::storage::is_plain_path(path)) std::abort();
    det::storage::verify(root, *manifest, nullptr);
  } catch (const det::Error &e) {
    if (e.code != det::Code::corrupt && e.code != det::Code::unsupported) std::abort();
  }
  return 0;
}
