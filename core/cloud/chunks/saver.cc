#include "core/cloud/chunks/saver.h"

#include <charconv>
#include <string_view>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/process.h"
#include "core/base/uuid.h"
#include "core/cloud/chunks/bucket_chunks.h"
#include "core/cloud/object_text.h"
#include "core/storage/chunks/chunk_sweep.h"

namespace det::cloud {

namespace {

constexpr std::string_view saver = "saver-";
constexpr int64_t given_up_after_ms = int64_t{7} * 24 * 3600 * 1000;

std::string note_of(uint64_t generation) { return std::string(saver) + std::to_string(generation); }

uint64_t random_number() {
  const std::string random = make_uuid();
  return checksum64(random.data(), random.size());
}

Liveness liveness_of(const std::string &note) try {
  return liveness(ProcessIdentity::from_json(parse_json_object(note, "a note")));
} catch (const std::exception &) {
  return Liveness::unknown;
}

// By its own clock.
int64_t now_ms_of(const Bucket &bucket, BucketChunks &chunks) {
  chunks.write_note("clock", "");
  const std::optional<ObjectInfo> info = bucket.store->find(chunks.key_of_note("clock"));
  chunks.remove_note("clock");
  return info ? info->modified_ms : 0;
}

}  // namespace

std::optional<uint64_t> generation_of_saver(const std::string &note) {
  uint64_t generation = 0;
  const char *const end = note.data() + note.size();
  if (!note.starts_with(saver)) return std::nullopt;
  const auto [last, failure] = std::from_chars(note.data() + saver.size(), end, generation);
  return failure == std::errc() && last == end ? std::optional(generation) : std::nullopt;
}

Saver::Saver(const Bucket &bucket) : bucket_(bucket), generation_(random_number()) {
  write_object(*bucket.store, BucketChunks(bucket).key_of_note(note_of(generation_)),
               to_wire(ProcessIdentity::current().to_json()) + "\n");
}

Saver::~Saver() {
  RequestScope scope(nullptr);
  scope.attempts = 2;
  const InRequestScope in_scope(scope);
  try {
    BucketChunks chunks(bucket_);
    if (!is_finished_) storage::note_garbage(chunks);
    chunks.remove_note(note_of(generation_));
  } catch (const std::exception &) {
    // A sweep does it once this process is gone.
  }
}

void Saver::finished() {
  if (!bucket_.store->find(BucketChunks(bucket_).key_of_note(note_of(generation_))))
    throw Error(Code::conflict,
                "storing chunks in '" + bucket_.store->name_of(bucket_.keys.chunks()) +
                    "': this took so long that another machine has taken it for abandoned; "
                    "save again");
  is_finished_ = true;
}

void give_up_dead_savers(const Bucket &bucket) {
  BucketChunks chunks(bucket);
  std::optional<int64_t> now_ms;
  for (const ObjectInfo &info : chunks.objects_of_notes()) {
    const std::string name = info.key.substr(chunks.key_of_note("").size());
    if (!generation_of_saver(name)) continue;
    const std::optional<std::string> text = chunks.note(name);
    if (!text) continue;
    const Liveness now = liveness_of(*text);
    if (now == Liveness::alive) continue;
    if (now == Liveness::unknown) {
      if (!now_ms) now_ms = now_ms_of(bucket, chunks);
      if (*now_ms - info.modified_ms <= given_up_after_ms) continue;
    }
    storage::note_garbage(chunks);
    chunks.remove_note(name);
  }
}

}  // namespace det::cloud
