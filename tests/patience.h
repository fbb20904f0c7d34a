/* How long a test waits for what has to come. It only ends what hangs: a busy machine may take its
   time. tests/patience.py has it for Python. */
#pragma once

#define TEST_PATIENCE_SECONDS 900
#define TEST_PATIENCE_MS (TEST_PATIENCE_SECONDS * 1000)
