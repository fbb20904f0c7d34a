#include "tests/integration/support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *make_directory(void) {
  const char *base = getenv("TMPDIR");
  char *directory = join(base ? base : "/tmp", "detcore-test-XXXXXX");
  if (!mkdtemp(directory)) {
    perror(directory);
    abort();
  }
  return directory;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *at) {
  (void)status, (void)type, (void)at;
  return remove(path);
}

void remove_directory(char *directory) {
  nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  free(directory);
}

char *join(const char *directory, const char *name) {
  char *path = NULL;
  if (asprintf(&path, "%s/%s", directory, name) < 0) abort();
  return path;
}

// By hand, since the checked strstr() and strtoll() of a sanitizer measure the rest of the text at
// each call, and an answer may be megabytes long.
const char *json_find(const char *json, const char *key) {
  size_t length = strlen(key);
  for (const char *at = json; *at != '\0'; at++) {
    if (*at == '"' && strncmp(at + 1, key, length) == 0 && at[length + 1] == '"' &&
        at[length + 2] == ':') {
      for (at += length + 3; *at == ' ' || *at == '\n';) at++;
      return at;
    }
  }
  return NULL;
}

double json_number(const char *value) {
  char text[32] = "";
  for (size_t i = 0; i + 1 < sizeof text && value[i] != '\0' && value[i] != ',' && value[i] != '}';
       i++)
    text[i] = value[i];
  return strtod(text, NULL);
}

uint64_t random_bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void sleep_us(int64_t microseconds) {
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&time, NULL);
}
