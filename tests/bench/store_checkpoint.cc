// store_checkpoint SOURCE BASE [relaxed]: stores a directory as one checkpoint, and nothing else.
// `relaxed` leaves writing to disk to the kernel, as cp does.
#include <cstdio>
#include <cstring>

#include "core/storage/directory_storage.h"

int main(int argc, char **argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: store_checkpoint SOURCE BASE [relaxed]\n");
    return 2;
  }
  const bool relaxed = argc > 3 && std::strcmp(argv[3], "relaxed") == 0;
  det::storage::DirectoryStorage storage(
      {.base = argv[2], .config = {}, .base_key = "host_path", .durable = !relaxed},
      std::make_shared<det::Logger>());
  const auto writer = storage.begin("checkpoint");
  writer->add(argv[1], std::nullopt);
  writer->commit();
  writer->announced();
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
