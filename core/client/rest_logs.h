// The logs of trials on a master.
#pragma once

#include <memory>

#include "core/client/client.h"
#include "core/codec/logs.h"
#include "core/master/rest/master_session.h"

namespace det::client {

// The cursor is the id of a line: masters list lines by id, but cannot begin behind one. They can
// begin at a time, so we begin a little before that of the cursor's line and drop what was read
// before. One thread at a time.
class LogReader {
 public:
  explicit LogReader(std::shared_ptr<master::MasterSession> session)
      : session_(std::move(session)) {}

  Json list(int64_t trial_id, const engine::Page &page);

 private:
  codec::ListTrialLogs request(int64_t trial_id, const engine::Page &page) const;

  const std::shared_ptr<master::MasterSession> session_;

  // The line of the last cursor given out.
  struct Mark {
    int64_t trial_id = 0;
    int64_t id = 0;
    codec::Time time = {};
  } mark_;
};

}  // namespace det::client
