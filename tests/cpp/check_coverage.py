#!/usr/bin/env python3
"""The headers of C++ call every function of the C API. Usage: check_coverage.py SOURCE"""

import re
import sys
from pathlib import Path

source = Path(sys.argv[1])
# What their Options and Error do by members of their own.
replaced = {"det_error_init", "det_core_options_init", "det_client_options_init", "det_client_page_init",
            "det_checkpoint_options_init", "det_download_options_init", "det_config_options_init",
            "det_distributed_options_init", "det_histogram_init", "det_report_init", "det_save_limits_init", "det_staging_options_init",
            "det_tensor_init", "det_trial_cache_reader_options_init",
            "det_trial_gradient_init", "det_trial_gradients_options_init",
            "det_tensors_read_options_init", "det_tensors_write_options_init"}
functions = set()
for script in ["detcore.map", "detcore-mpi.map"]:
    functions |= set(re.findall(r"^\s*(det_\w+);", (source / "capi" / script).read_text(), re.MULTILINE))
text = "".join(re.sub("//.*", "", path.read_text()) for path in source.glob("wrappers/cpp/det/**/*.hpp"))
called = functions & set(re.findall(r"\bdet_\w+", text))
missing = functions - called - replaced
print("\n".join(f"wrappers/cpp calls {name}() nowhere" for name in sorted(missing)))
sys.exit(1 if missing or not functions or replaced - functions else 0)
