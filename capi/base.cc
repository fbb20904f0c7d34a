#include <det/base.h>

#include <cstdlib>

#define DET_TEXT_OF(x) #x
#define DET_TEXT(x) DET_TEXT_OF(x)

uint32_t det_version(void) noexcept {
  return DET_VERSION_MAJOR * 1000000 + DET_VERSION_MINOR * 1000 + DET_VERSION_PATCH;
}

const char *det_version_string(void) noexcept {
  return DET_TEXT(DET_VERSION_MAJOR) "." DET_TEXT(DET_VERSION_MINOR) "." DET_TEXT(
      DET_VERSION_PATCH);
}

void det_free(void *memory) noexcept { std::free(memory); }
