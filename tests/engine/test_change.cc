// Who waits is woken by what a change says to him: by its commit, and not before. Nobody looks by
// himself here for an hour.
#include "core/base/process/fifo.h"
#include "core/engine/change.h"
#include "core/engine/experiment.h"
#include "core/journal/run_directory.h"
#include "tests/engine/suite.h"
#include "tests/patience.h"

namespace det::test {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

bool is_readable(int fd) {
  pollfd news{fd, POLLIN, 0};
  return poll(&news, 1, 0) == 1;
}

void the_supervisor_is_woken(const World &world) {
  engine::Store store(world.directory(), false, world.options());
  const engine::SupervisorSeat seat(world.directory(), 1);
  engine::Change change(store);
  change.tell_supervisor(1);
  assert_false(is_readable(seat.wake_fd()));
  change.commit();
  assert_true(is_readable(seat.wake_fd()));
}

void the_run_that_is_asked_to_stop_is_woken(const World &world) {
  const auto run = world.start();
  const KnownFd fifo = open_fifo(journal::signal_file(run->run_directory()));
  engine::Store store(world.directory(), false, world.options());
  engine::Change change(store);
  change.signal(1, 1, "pause");
  assert_false(is_readable(fifo.get()));
  change.commit();
  assert_true(is_readable(fifo.get()));
}

// Where others of a network cannot be heard, a listener looks by himself all the time.
void those_who_wait_for_the_search_are_woken(const World &world) {
  engine::Store store(world.directory(), false, world.options());
  const auto listener = store.waking().listen(1);
  engine::Change change(store);
  change.tell_listeners(1);
  change.commit();
  const auto begun = steady_clock::now();
  listener->wait(seconds(TEST_PATIENCE_SECONDS));
  assert_true(steady_clock::now() - begun < seconds(TEST_PATIENCE_SECONDS / 2));
}

}  // namespace
}  // namespace det::test

int test_change() {
  using namespace det::test;
  return run_over_stores("change", {behaviour(the_supervisor_is_woken),
                                    behaviour(the_run_that_is_asked_to_stop_is_woken),
                                    behaviour(those_who_wait_for_the_search_are_woken)});
}
