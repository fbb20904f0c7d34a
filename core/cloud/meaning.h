// What stores that answer in XML mean by a refusal: by a code of their own, or only by the status.
#pragma once

#include <string>
#include <string_view>

#include "core/cloud/requests.h"

namespace det::cloud {

struct Meaning {
  std::string_view code_of_store;  // empty for one that is not known
  Code code;
  Refusal::Again again;
  const char *remedy = "";
};

// Of an unknown code, where the store gives its status no other meaning.
Meaning meaning_of_status(int status);

// "the store answered 403 AccessDenied: ..."; one line, bounded.
std::string refusal_reason(const std::string &code_of_store, const std::string &message,
                           int status);

}  // namespace det::cloud
