#include "core/cloud/request_scope.h"

#include <utility>

namespace det::cloud {

namespace {
thread_local RequestScope *of_this_thread = nullptr;
}

RequestScope *RequestScope::current() noexcept { return of_this_thread; }

InRequestScope::InRequestScope(RequestScope &scope)
    : outer_(std::exchange(of_this_thread, &scope)) {}

InRequestScope::~InRequestScope() { of_this_thread = outer_; }

}  // namespace det::cloud
