// An object's bytes on their way into a sink, over as many attempts as that takes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/cloud/requests.h"
#include "core/http/message.h"

namespace det::cloud {

// The sink of every attempt: it begins the caller's once, and each attempt asks for what is left.
class Download : public http::BodySink {
 public:
  // As ObjectStore::get().
  Download(uint64_t offset, uint64_t size, std::shared_ptr<http::BodySink> into);

  // What the next attempt must ask for: "bytes=5-9".
  std::string next_range();

  void begin() override;
  void write(const char *bytes, size_t count) override;

  // For Call::check, where 200, 206 and 416 are expected: whether the answer was what was asked
  // for. Where it was the last, nothing is missing.
  std::optional<Refusal> check(const http::HttpResponse &answer);

  uint64_t done() const { return done_; }

 private:
  const uint64_t offset_, size_;
  const std::shared_ptr<http::BodySink> into_;
  uint64_t done_ = 0;
  uint64_t asked_ = 0;  // of the object, the first byte of this attempt
  bool begun_ = false;
};

}  // namespace det::cloud
