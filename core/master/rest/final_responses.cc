#include "core/master/rest/final_responses.h"

#include <algorithm>
#include <array>

#include "core/codec/refusal.h"

namespace det::master {

namespace {

constexpr std::array all_final_responses{
    FinalResponse{413, Writer::anybody, 0, "", "the request stays as large, for a proxy as well"},
    FinalResponse{400, Writer::api, 0, "", "the request stays malformed"},
    FinalResponse{400, Writer::plain, 0, "", "the request stays malformed"},
    FinalResponse{404, Writer::api, 0, "", "the trial, its experiment or its task is gone"},
    FinalResponse{404, Writer::plain, 0, "api not found", "this version has no such call"},
    FinalResponse{409, Writer::api, 6, "", "it exists already; 10, a race, passes"},
    FinalResponse{501, Writer::api, 0, "", "this version has no such call"},
    FinalResponse{500, Writer::api, 0, "SQLSTATE 22", "no column of the database holds the value"},
    FinalResponse{500, Writer::api, 0, "SQLSTATE 23",
                  "a constraint of the database forbids the row"},
    FinalResponse{500, Writer::api, 0, "invalid run id",
                  "a later run has begun: runs only count up"},
    FinalResponse{500, Writer::api, 0, "overwriting existing metric keys", "the first value stays"},
    FinalResponse{500, Writer::api, 0, "overwriting batch metrics", "the first ones stay"},
    FinalResponse{500, Writer::api, 0, "cannot add metric with non numeric",
                  "an epoch that is no number stays none"},
    FinalResponse{500, Writer::api, 0, "invalid progress value", "the value stays out of range"},
    FinalResponse{500, Writer::plain, 0, "decoding task logs", "the lines stay malformed"},
};

// The last one: before it a body may repeat what was reported.
std::string_view from_sqlstate(std::string_view body) {
  const size_t at = body.rfind("SQLSTATE ");
  return at == body.npos ? std::string_view() : body.substr(at);
}

bool has_text(std::string_view body, std::string_view text) {
  const std::string_view sqlstate = from_sqlstate(body);
  if (text.empty() || !sqlstate.empty()) return sqlstate.starts_with(text);
  return body.find(text) != body.npos;
}

Writer writer_of(const http::HttpResponse &answer, int grpc) {
  if (grpc != 0) return Writer::api;
  const bool is_plain = answer.asked.find("/api/v1/") == answer.asked.npos;
  return is_plain && answer.body.starts_with('{') ? Writer::plain : Writer::anybody;
}

}  // namespace

std::span<const FinalResponse> final_responses() noexcept { return all_final_responses; }

const FinalResponse *find_final(const http::HttpResponse &answer) {
  const int grpc = codec::read_refusal({answer.status, answer.body}).code;
  const Writer writer = writer_of(answer, grpc);
  const auto *found = std::ranges::find_if(all_final_responses, [&](const FinalResponse &entry) {
    return entry.status == answer.status &&
           (entry.writer == Writer::anybody || entry.writer == writer) &&
           (entry.grpc == 0 || entry.grpc == grpc) && has_text(answer.body, entry.text);
  });
  return found == all_final_responses.end() ? nullptr : found;
}

bool is_inner_failure(const http::HttpResponse &answer) {
  return answer.status == 500 && codec::read_refusal({answer.status, answer.body}).code != 0;
}

bool is_unexplained(const http::HttpResponse &answer) {
  return is_inner_failure(answer) && from_sqlstate(answer.body).empty();
}

}  // namespace det::master
