// Failures on their way between functions of C and what is thrown.
#pragma once

#include "wrappers/keras/both_faces.h"

// As guarded(), for bodies that throw what det::keras and the standard library do.
template <class Body>
det_status guarded_keras(det_error *err, Body &&body) noexcept;

// Calls a function of the program, with a det_error behind `arguments`, and throws what it answers
// that is no success. `name` says in errors which one it is.
template <class Function, class... Arguments>
void call_program(const char *name, Function *function, Arguments... arguments);

// A code as it is; DET_E_CALLBACK for what is none.
det_status failure_code(det_status status);
// Throws what is being handled as an error of the core.
[[noreturn]] void rethrow_as_core_error();
// Throws what a function of the program answered.
[[noreturn]] void throw_answer(const char *name, det_status status, const det_error &error);

template <class Body>
det_status guarded_keras(det_error *err, Body &&body) noexcept {
  return guarded(err, [&] {
    try {
      std::forward<Body>(body)();
    } catch (...) {
      rethrow_as_core_error();
    }
  });
}

template <class Function, class... Arguments>
void call_program(const char *name, Function *function, Arguments... arguments) {
  det_error error = DET_ERROR_INIT;
  const det_status status = function(arguments..., &error);
  if (status != DET_OK) throw_answer(name, status, error);
}
