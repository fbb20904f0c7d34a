// What det_core_init() and its form for JSON share.
#pragma once

#include <det/core.h>

#include <functional>

#include "capi/host_log.h"

// `read` throws for options that are wrong; other ranks learn of that.
void start_core(det_distributed_context *distributed, const HostLog &log,
                const std::function<det_core_options()> &read, det_core **out);
