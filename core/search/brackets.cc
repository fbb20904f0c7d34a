#include "core/search/brackets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace det::search {

namespace {

std::vector<uint64_t> rungs_of_brackets(const SearchSettings &settings) {
  std::vector<uint64_t> rungs = settings.bracket_rungs;
  if (rungs.empty()) {
    const uint64_t most =
        std::min({settings.max_rungs, rungs_worth(settings.max_length, settings.divisor),
                  rungs_worth(settings.max_trials, settings.divisor)});
    uint64_t least = most;
    if (settings.mode == SearchSettings::Mode::standard) least = (most - 1) / 2 + 1;
    if (settings.mode == SearchSettings::Mode::conservative) least = 1;
    for (; least <= most; ++least) rungs.push_back(least);
  }
  std::ranges::sort(rungs, std::greater());
  return rungs;
}

// Brackets that stop more get more trials, so that all train for about as long.
void share_trials(uint64_t max_trials, std::vector<Bracket> &brackets) {
  std::vector<double> weights;
  for (const Bracket &bracket : brackets) {
    const auto rungs = static_cast<double>(bracket.lengths.size());
    weights.push_back(std::pow(bracket.divisor, rungs - 1) / rungs);
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  uint64_t shared = 0;
  for (size_t i = 0; i < brackets.size(); ++i) {
    const double share = weights[i] / total * static_cast<double>(max_trials);
    brackets[i].max_trials = std::max<uint64_t>(static_cast<uint64_t>(share), 1);
    shared += brackets[i].max_trials;
  }
  if (shared < max_trials) brackets.front().max_trials += max_trials - shared;
}

void share_concurrency(uint64_t max_concurrent_trials, std::vector<Bracket> &brackets) {
  const uint64_t count = brackets.size();
  const uint64_t shared = std::max(max_concurrent_trials, count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t &share = brackets[i].max_concurrent_trials;
    if (max_concurrent_trials > 0) share = shared / count + (i < shared % count ? 1 : 0);
    else share = std::max(brackets.back().max_trials, static_cast<uint64_t>(brackets[i].divisor));
  }
}

}  // namespace

uint64_t rungs_worth(uint64_t amount, double divisor) {
  return static_cast<uint64_t>(natural_logarithm(static_cast<double>(amount)) /
                               natural_logarithm(divisor)) +
         1;
}

std::vector<uint64_t> rung_lengths(uint64_t num_rungs, uint64_t max_length, double divisor) {
  std::vector<uint64_t> lengths;
  for (uint64_t rung = 0; rung < num_rungs; ++rung) {
    const double shrink = std::pow(divisor, static_cast<double>(num_rungs - 1 - rung));
    lengths.push_back(
        std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(max_length) / shrink), 1));
  }
  return lengths;
}

std::vector<Bracket> brackets(const SearchSettings &settings) {
  const bool one = settings.method == SearchSettings::Method::asha;
  std::vector<Bracket> brackets;
  for (const uint64_t rungs :
       one ? std::vector<uint64_t>{settings.num_rungs} : rungs_of_brackets(settings))
    brackets.push_back({settings.max_trials, settings.max_concurrent_trials, settings.divisor,
                        rung_lengths(rungs, settings.max_length, settings.divisor)});
  if (one) return brackets;
  share_trials(settings.max_trials, brackets);
  share_concurrency(settings.max_concurrent_trials, brackets);
  return brackets;
}

double natural_logarithm(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double l1 = 6.666666666666735130e-01;
  constexpr double l2 = 3.999999999940941908e-01;
  constexpr double l3 = 2.857142874366239149e-01;
  constexpr double l4 = 2.222219843214978396e-01;
  constexpr double l5 = 1.818357216161805012e-01;
  constexpr double l6 = 1.531383769920937332e-01;
  constexpr double l7 = 1.479819860511658591e-01;
  constexpr double half_root_of_2 = 7.07106781186547524401e-01;

  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < half_root_of_2) {
    mantissa *= 2;
    --exponent;
  }
  const double k = exponent;
  const double f = mantissa - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  const double w = z * z;
  const double r = z * (l1 + w * (l3 + w * (l5 + w * l7))) + w * (l2 + w * (l4 + w * l6));
  const double h = 0.5 * f * f;
  return k * ln2_high - ((h - (s * (h + r) + k * ln2_low)) - f);
}

}  // namespace det::search
