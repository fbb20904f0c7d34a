#include "tests/integration/sample_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/integration/support.h"

enum { FILES = 4 };  // in a checkpoint, beside `seed`

static size_t file_size(uint64_t seed, int index) {
  seed += (uint64_t)index;
  return random_bits(&seed) % 20000;
}

static FILE *open_file(const char *directory, const char *name, const char *mode) {
  char *path = join(directory, name);
  FILE *file = fopen(path, mode);
  free(path);
  return file;
}

int write_checkpoint(const char *directory, uint64_t seed) {
  FILE *file = open_file(directory, "seed", "wb");
  if (!file || fwrite(&seed, sizeof seed, 1, file) != 1 || fclose(file) != 0) return -1;
  for (int i = 0; i < FILES; i++) {
    char name[16];
    snprintf(name, sizeof name, "part-%d", i);
    file = open_file(directory, name, "wb");
    uint64_t bytes = seed ^ (uint64_t)i;
    for (size_t left = file_size(seed, i); file && left > 0; left--)
      putc((int)(random_bits(&bytes) & 0xff), file);
    const int failed = !file || ferror(file);
    if (!file || fclose(file) != 0 || failed) return -1;
  }
  return 0;
}

const char *check_checkpoint(const char *directory) {
  static char wrong[64];
  uint64_t seed;
  FILE *file = open_file(directory, "seed", "rb");
  size_t got = file ? fread(&seed, sizeof seed, 1, file) : 0;
  if (file) fclose(file);
  if (got != 1) return "no seed";
  for (int i = 0; i < FILES; i++) {
    char name[16];
    snprintf(name, sizeof name, "part-%d", i);
    snprintf(wrong, sizeof wrong, "%s is missing, cut or changed", name);
    file = open_file(directory, name, "rb");
    if (!file) return wrong;
    uint64_t bytes = seed ^ (uint64_t)i;
    int same = 1;
    for (size_t left = file_size(seed, i); same && left > 0; left--)
      same = getc(file) == (int)(random_bits(&bytes) & 0xff);
    same = same && getc(file) == EOF;
    fclose(file);
    if (!same) return wrong;
  }
  file = open_file(directory, "metadata.json", "rb");
  if (!file) return "no metadata.json";
  fclose(file);
  return NULL;
}
