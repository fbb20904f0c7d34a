// Which answers of a master are final: it will never take that report, however often it is sent.
#pragma once

#include <span>
#include <string_view>

#include "core/http/message.h"

namespace det::master {

// Who wrote the answer: a proxy has neither form.
enum class Writer { anybody, api, plain };  // plain: a master, outside of /api/v1

struct FinalResponse {
  int status;
  Writer writer;
  int grpc;               // the code in the body; 0: any
  std::string_view text;  // a part of the body; empty: any
  std::string_view reason;
};

// All of them. An answer that is not in this table passes: the report waits in the journal.
std::span<const FinalResponse> final_responses() noexcept;

// The entry that an answer is, or null. A failure of the master's database is final where
// PostgreSQL says that the data are wrong, and not where it says anything else.
const FinalResponse *find_final(const http::HttpResponse &answer);

// Whether a master itself answered 500. Unless that is final, it may be an outage of its database.
bool is_inner_failure(const http::HttpResponse &answer);

// Whether it names no error of its database either: then it may also be a report that this version
// cannot take.
bool is_unexplained(const http::HttpResponse &answer);

}  // namespace det::master
