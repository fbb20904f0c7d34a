// Of all that the library asks of libstdc++ this alone is newer than gcc 11, and differs only in
// its exception specification. In the bundled library it is linked in its place.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

extern "C" void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable *condition, std::unique_lock<std::mutex> *lock);

extern "C" void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable *condition, std::unique_lock<std::mutex> *lock) {
  pthread_cond_wait(condition->native_handle(), lock->mutex()->native_handle());
}
