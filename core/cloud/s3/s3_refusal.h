// What S3 means when it refuses.
#pragma once

#include <string>

#include "core/cloud/requests.h"
#include "core/http/message.h"

namespace det::cloud {

// The code that names the reason ("NoSuchBucket"); empty where the answer has none.
std::string s3_error_code(const http::HttpAnswer &answer);

// Of an answer, also of one with status 200 in which an error stands.
Refusal s3_refusal(const http::HttpAnswer &answer);

// Of one key among many, and of what stands in an answer.
Refusal s3_refusal(const std::string &code, const std::string &message, int status);

// The region that the answer points to; empty: it names none.
std::string s3_region_in(const http::HttpAnswer &answer);

}  // namespace det::cloud
