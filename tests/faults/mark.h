/* How a program says which part of it is to be tried: inject (see there) leaves the rest alone,
 * such as the loader, and what makes its ledger. Without inject these do nothing. */
#pragma once

#include <sys/prctl.h>

#define FAULT_MARK 0x6465746d /* no option of prctl() */

static inline void faults_begin(void) { prctl(FAULT_MARK, 1, 0, 0, 0); }
static inline void faults_end(void) { prctl(FAULT_MARK, 0, 0, 0, 0); }
