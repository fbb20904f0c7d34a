#include "core/comm/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/comm/numbers.h"

namespace det {

namespace {

constexpr std::string_view handshake_magic = "detcomm2";
constexpr std::string_view refusal_magic = "detcomm!";

std::string random_bytes(size_t size) {
  std::string bytes(size, '\0');
  if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size))
    OsFailure{errno}.raise("getting random bytes");
  return bytes;
}

std::string proof(const std::string &secret, std::string_view side, std::string_view transcript) {
  std::string text(side);
  text += transcript;
  std::string code(proof_size, '\0');
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char *>(text.data()), text.size(),
           reinterpret_cast<unsigned char *>(code.data()), &size) == nullptr ||
      size != proof_size)
    throw Error(Code::internal, "joining a job: OpenSSL computes no HMAC-SHA256");
  return code;
}

bool is_proof(std::string_view given, const std::string &expected) {
  return given.size() == expected.size() &&
         CRYPTO_memcmp(given.data(), expected.data(), expected.size()) == 0;
}

std::string transcript_of(std::string_view challenge, std::string_view hello) {
  std::string transcript(challenge);
  transcript += hello.substr(0, hello_size - proof_size);
  return transcript;
}

}  // namespace

std::string job_secret() {
  std::string secret = environment_variable("DET_DISTRIBUTED_SECRET");
  if (secret.empty()) secret = environment_variable("DET_SESSION_TOKEN");
  return secret;
}

std::string make_challenge() { return std::string(handshake_magic) + random_bytes(nonce_size); }

std::string Applicant::answer(std::string_view challenge) {
  if (challenge.size() != challenge_size || !challenge.starts_with(handshake_magic))
    throw Error(Code::access,
                "joining a job: what listens at the chief's address is no detcore of this release; "
                "set another port (pub_port or INTER_TRAIN_PROCESS_COMM_PORT_1)");
  std::string hello = std::string(handshake_magic) + random_bytes(nonce_size);
  hello += static_cast<char>(hello_.channel);
  std::string numbers(2 * sizeof(int32_t), '\0');
  put_number(&numbers[0], int32_t{hello_.rank});
  put_number(&numbers[sizeof(int32_t)], int32_t{hello_.size});
  hello += numbers;
  transcript_ = std::string(challenge) + hello;
  return hello + proof(secret_, "hello", transcript_);
}

void Applicant::judge(std::string_view welcome) const {
  const bool proven =
      welcome.size() == welcome_size && welcome.starts_with(handshake_magic) &&
      is_proof(welcome.substr(handshake_magic.size()), proof(secret_, "welcome", transcript_));
  if (!proven)
    throw Error(Code::access,
                "joining a job: what listens at the chief's address does not know the secret of "
                "this job; give all ranks the same DET_DISTRIBUTED_SECRET");
}

std::optional<size_t> Applicant::text_of_refusal(std::string_view refusal) {
  if (refusal.size() != welcome_size || !refusal.starts_with(refusal_magic)) return std::nullopt;
  const auto size = take_number<uint32_t>(&refusal[refusal_magic.size() + sizeof(int32_t)]);
  return std::min<size_t>(size, longest_refusal);
}

Error Applicant::refused(std::string_view refusal, const std::string &text) {
  return {code_from(take_number<int32_t>(&refusal[refusal_magic.size()])), text};
}

std::optional<Hello> verify_hello(std::string_view challenge, std::string_view hello,
                                  const std::string &secret) {
  if (hello.size() != hello_size || !hello.starts_with(handshake_magic)) return std::nullopt;
  if (!is_proof(hello.substr(hello_size - proof_size),
                proof(secret, "hello", transcript_of(challenge, hello))))
    return std::nullopt;
  const std::string_view facts = hello.substr(handshake_magic.size() + nonce_size);
  const auto channel = static_cast<unsigned char>(facts[0]);
  if (channel > static_cast<unsigned char>(Channel::local)) return std::nullopt;
  return Hello{static_cast<Channel>(channel), take_number<int32_t>(&facts[1]),
               take_number<int32_t>(&facts[5])};
}

std::string make_welcome(std::string_view challenge, std::string_view hello,
                         const std::string &secret) {
  return std::string(handshake_magic) + proof(secret, "welcome", transcript_of(challenge, hello));
}

std::string make_refusal(const Error &why) {
  const std::string text = std::string(why.what()).substr(0, longest_refusal);
  std::string bytes(welcome_size, '\0');
  refusal_magic.copy(bytes.data(), refusal_magic.size());
  put_number(&bytes[refusal_magic.size()], static_cast<int32_t>(why.code));
  put_number(&bytes[refusal_magic.size() + sizeof(int32_t)], static_cast<uint32_t>(text.size()));
  return bytes + text;
}

}  // namespace det
