/* A program may have an SQLite of its own, of any version: the bundled library does not call that.
 */
#include <det/core.h>
#include <stdio.h>
#include <stdlib.h>

#define OWN(name)                                                    \
  void name(void);                                                   \
  void name(void) {                                                  \
    fputs("the library calls " #name "() of the program\n", stderr); \
    abort();                                                         \
  }
OWN(sqlite3_open_v2)
OWN(sqlite3_prepare_v3)
OWN(sqlite3_step)
OWN(sqlite3_malloc)

int main(void) {
  det_error err = DET_ERROR_INIT;
  det_core *core;
  if (det_core_init(NULL, &core, &err) < 0 || det_core_close(core, DET_OUTCOME_OK, &err) < 0) {
    fprintf(stderr, "%s\n", err.message);
    return EXIT_FAILURE;
  }
  det_core_free(core);
  return EXIT_SUCCESS;
}
