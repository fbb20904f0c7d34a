#include <det/core.h>
#include <stdio.h>
#include <stdlib.h>

static det_error err = DET_ERROR_INIT;

static void check(det_status status) {
  if (status >= 0) return;
  fprintf(stderr, "%s\n", err.message);
  exit(EXIT_FAILURE);
}

int main(void) {
  setenv("RANK", "0", 1), setenv("WORLD_SIZE", "1", 1);
  setenv("LOCAL_RANK", "0", 1), setenv("LOCAL_WORLD_SIZE", "1", 1);
  setenv("GROUP_RANK", "0", 1), setenv("GROUP_WORLD_SIZE", "1", 1);
  det_core *core;
  /* BLOCK */
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  det_core_free(core);
  det_distributed_free(distributed);
  return 0;
}
