#include "core/comm/disagreement.h"

namespace det::comm {

namespace {

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

std::string Caller::call(Channel channel) const {
  const std::string name = name_of(head.collective, channel);
  const std::string number = "call " + std::to_string(head.sequence) + ")";
  if (head.api == ApiCall::none) return name + " (" + number;
  return Call{head.api, argument}.text() + " (" + name + ", " + number;
}

bool is_same_call(const FrameHead &one, const FrameHead &other) {
  return one.sequence == other.sequence && one.collective == other.collective &&
         is_in_step(one.api, other.api) && one.digest == other.digest;
}

Error mismatch(const Caller &theirs, const Caller &mine, Channel channel) {
  const std::string they = rank_name(theirs.rank) + " called " + theirs.call(channel);
  const std::string i = rank_name(mine.rank) + " called " + mine.call(channel);
  FrameHead same = theirs.head;
  same.digest = mine.head.digest;
  if (is_same_call(same, mine.head))
    return {Code::conflict,
            they + " with another argument where " + i + ": all ranks must give the same one"};
  return {Code::conflict,
          they + " where " + i + ": all ranks must make the same calls in the same order"};
}

Error with_own_argument(const Error &error, const Caller &mine, Channel channel) {
  const std::string text = error.what();
  if (error.code != Code::conflict || mine.argument.empty() ||
      text.find("('" + std::string(mine.argument) + "')") != text.npos)
    return error;
  return {error.code, text + " (" + rank_name(mine.rank) + " called " + mine.call(channel) + ")"};
}

Error silence(int peer, const Caller &mine, Channel channel, const std::string &elsewhere,
              std::chrono::milliseconds timeout) {
  const std::string limit = std::to_string(timeout.count()) + " ms";
  if (!elsewhere.empty())
    return {Code::conflict, rank_name(peer) + " called " + elsewhere + " where " +
                                rank_name(mine.rank) + " called " + mine.call(channel) +
                                ", and both waited for " + limit +
                                ": all ranks must make the same calls in the same order"};
  return {Code::timeout, mine.call(channel) + ": " + rank_name(peer) +
                             " did not take part within " + limit +
                             "; see what it is doing, or raise timeout_ms or "
                             "DET_DISTRIBUTED_TIMEOUT"};
}

Error stopped(const Caller &mine, Channel channel) {
  return {Code::callback, mine.call(channel) + ": " + rank_name(mine.rank) +
                              " was stopped while it waited for other ranks; leave the job"};
}

Code code_for_others(Code code) { return code == Code::callback ? Code::unavailable : code; }

}  // namespace det::comm
