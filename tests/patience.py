"""How long a test waits for what has to come. It only ends what hangs: a busy machine may take its time.

tests/patience.h has it for C and C++.
"""

PATIENCE = 900  # seconds
