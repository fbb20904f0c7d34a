// Checkpoints whose every byte follows from a seed, so that damage shows.
#pragma once

#include <stdint.h>

int write_checkpoint(const char *directory, uint64_t seed);
// NULL when the checkpoint is complete, else what is wrong with it.
const char *check_checkpoint(const char *directory);
