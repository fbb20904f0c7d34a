// How two processes that just connected make sure that they belong to the same job.
//
// The side that accepted sends a challenge; the other answers with who it is and a proof that it
// knows the secret; the first proves the same and welcomes it, sends it on to another rank, or says
// why it does neither. The secret itself never travels. Within one machine the kernel also tells
// whose process the other is, and that is enough where there is no secret.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/comm/communicator.h"
#include "core/comm/frame.h"

namespace det::comm {

// DET_DISTRIBUTED_SECRET, else DET_SESSION_TOKEN; empty when there is none.
std::string job_secret();

constexpr size_t nonce_size = 32;
constexpr size_t proof_size = 32;
constexpr size_t challenge_size = 8 + nonce_size;
constexpr size_t hello_size = 8 + nonce_size + 7 * sizeof(int32_t) + proof_size;
constexpr size_t welcome_size = 8 + 2 * sizeof(int32_t) + proof_size;

// Who connects.
struct Hello {
  Ranks ranks;
  int door = 0;  // the port at which other machines may come to it
};

struct Welcome {
  int rank = 0;    // who welcomes
  int number = 0;  // of the machine that comes: see core/comm/join/layout.h
};

// What is no welcome has the size of one; so many bytes of text follow it.
struct Notice {
  bool is_refusal = false;
  int number = 0;  // the code of an error; else as in a welcome that the other rank would give
  size_t text_size = 0;
};
constexpr size_t longest_notice = 500;

std::string make_challenge();

// The connecting side: answers a challenge, then judges what came back. Both throw Code::access for
// a process that is not of this job or release.
class Applicant {
 public:
  Applicant(const Hello &hello, std::string secret) : hello_(hello), secret_(std::move(secret)) {}
  std::string answer(std::string_view challenge);
  Welcome judge(std::string_view welcome) const;

 private:
  const Hello hello_;
  const std::string secret_;
  std::string transcript_;
};

// The accepting side. Whether these are, or may become, an answer of this release; what an answer
// says, proven or not; and nothing for one that proves nothing.
bool is_of_this_release(std::string_view part_of_hello);
std::optional<Hello> read_hello(std::string_view hello);
std::optional<Hello> verify_hello(std::string_view challenge, std::string_view hello,
                                  const std::string &secret);
std::string make_welcome(std::string_view challenge, std::string_view hello,
                         const std::string &secret, const Welcome &welcome);

// Nothing for a welcome.
std::optional<Notice> read_notice(std::string_view reply);
std::string make_refusal(const Error &why);
std::string make_directions(int number, const std::string &endpoint);

}  // namespace det::comm
