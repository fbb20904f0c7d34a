// How two processes that just connected make sure that they belong to the same job.
//
// The side that accepted sends a challenge; the other answers with who it is and a proof that it
// knows the secret; the first proves the same and welcomes it, or says why it does not. The secret
// itself never travels. Within one machine the kernel also tells whose process the other is, and
// that is enough where there is no secret.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/comm/communicator.h"
#include "core/comm/frame.h"

namespace det {

// DET_DISTRIBUTED_SECRET, else DET_SESSION_TOKEN; empty when there is none.
std::string job_secret();

constexpr size_t nonce_size = 32;
constexpr size_t proof_size = 32;
constexpr size_t challenge_size = 8 + nonce_size;
constexpr size_t hello_size = 8 + nonce_size + 1 + 2 * sizeof(int32_t) + proof_size;
constexpr size_t welcome_size = 8 + proof_size;

// Who connects, and for what.
struct Hello {
  Channel channel = Channel::global;
  int rank = 0;
  int size = 1;  // of the job
};

std::string make_challenge();

// A refusal has the size of a welcome; so many bytes of text follow it.
constexpr size_t longest_refusal = 500;

// The connecting side: answers a challenge, then judges what came back. Both throw Code::access for
// a process that is not of this job or release.
class Applicant {
 public:
  Applicant(const Hello &hello, std::string secret) : hello_(hello), secret_(std::move(secret)) {}
  std::string answer(std::string_view challenge);
  void judge(std::string_view welcome) const;
  // How much text follows, where this is no welcome but a refusal; with it, what that says.
  static std::optional<size_t> text_of_refusal(std::string_view refusal);
  static Error refused(std::string_view refusal, const std::string &text);

 private:
  const Hello hello_;
  const std::string secret_;
  std::string transcript_;
};

// The accepting side: nothing for an answer that proves nothing.
std::optional<Hello> verify_hello(std::string_view challenge, std::string_view hello,
                                  const std::string &secret);
std::string make_welcome(std::string_view challenge, std::string_view hello,
                         const std::string &secret);
std::string make_refusal(const Error &why);

}  // namespace det
