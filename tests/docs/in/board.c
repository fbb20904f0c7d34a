#include <det/core.h>
#include <stdlib.h>

int main(void) {
  det_core *core;
  det_error err = DET_ERROR_INIT;
  if (det_core_init(NULL, &core, &err) != DET_OK) return EXIT_FAILURE;
  const int64_t step = 1;
  const double lr = 0.1;
  const float weights[] = {0.5f, 1};
  const size_t count = 2;
  const unsigned char pixels[12] = {0};
  const int width = 2, height = 2;
  /* BLOCK */
  det_status closed = det_core_close(core, DET_OUTCOME_OK, NULL);
  det_core_free(core);
  return closed == DET_OK && err.code == DET_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
