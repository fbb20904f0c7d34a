// What was spent in the regions of a rank, as reports of the group "regions".
#pragma once

#include <string>

#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/journal/shipper.h"
#include "core/journal/spool.h"
#include "core/profiler/regions.h"

namespace det::context {

class RegionReports {
 public:
  // Every ten seconds from the first region on, on the shipper's thread.
  RegionReports(profiler::Regions &regions, const comm::Ranks &ranks, journal::Spool &spool,
                journal::Shipper &shipper, Logger &logger);

  // What was spent since the last report. Nothing without regions.
  void report();

 private:
  profiler::Regions &regions_;
  const std::string rank_;  // by which reports of several ranks are told apart; empty: it is alone
  journal::Spool &spool_;
  Logger &logger_;
};

}  // namespace det::context
