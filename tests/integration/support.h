// What the integration tests share: a directory of their own, and the little reading of JSON they
// need. Nothing in here knows the library's inside.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A new empty directory, to release with remove_directory().
char *make_directory(void);
void remove_directory(char *directory);

// "<directory>/<name>", to free().
char *join(const char *directory, const char *name);

// Where the next `"key":` at or behind `json` has its value; NULL when there is none. Good enough
// for answers whose texts do not look like keys.
const char *json_find(const char *json, const char *key);
// The number there; 0 for null.
double json_number(const char *value);

// SplitMix64: the next of a sequence that follows from `*state`.
uint64_t random_bits(uint64_t *state);

void sleep_us(int64_t microseconds);
