// Why a store did not do what it was asked.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace det::cloud {

struct Refusal {
  enum class Again {
    no,
    soon,       // an accident: a few times
    throttled,  // the store has too much to do: patiently
    renewed,    // at once, with other credentials, clock or place: three times
  };

  Code code = Code::http;
  Again again = Again::no;
  std::string reason;  // in the store's words, without secrets
  std::string remedy;  // what to do, as the end of a sentence; may be empty
};

// How a refusal is classified: by a code of the store, or only by the status.
struct RefusalClass {
  std::string_view store_code;  // empty for one that is not known
  Code code;
  Refusal::Again again;
  const char *remedy = "";
};

// Of an unknown code, where the store gives its status no other meaning.
RefusalClass class_of_status(int status);

// "the store answered 403 AccessDenied: ..."; one line, bounded.
std::string refusal_reason(const std::string &store_code, const std::string &message, int status);

}  // namespace det::cloud
