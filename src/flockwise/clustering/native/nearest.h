// The best few candidates of each query, kept in order while more of them come.
#pragma once
#include <algorithm>
#include <cstdint>

namespace flockwise {

// values[query] are sorted, the largest first; of equal ones the first that came stays.
inline void keep_nearest(
    const float* products, int64_t queries, int64_t candidates, const int32_t* query, const int32_t* candidate,
    int64_t kept, int32_t* ids, float* values) {
  constexpr int64_t RUN = 64;  // candidates that are first looked at together: hardly any run has a better one
  for (int64_t row = 0; row < queries; row++) {
    const float* product = products + row * candidates;
    float* value = values + int64_t(query[row]) * kept;
    int32_t* id = ids + int64_t(query[row]) * kept;
    for (int64_t start = 0; start < candidates; start += RUN) {
      const int64_t stop = std::min(start + RUN, candidates);
      const float least = value[kept - 1];
      int better = 0;
      for (int64_t i = start; i < stop; i++) better |= product[i] > least;
      if (!better) continue;
      for (int64_t i = start; i < stop; i++) {
        if (!(product[i] > value[kept - 1]) || candidate[i] == query[row]) continue;
        int64_t place = kept - 1;
        for (; place > 0 && product[i] > value[place - 1]; place--) {
          value[place] = value[place - 1];
          id[place] = id[place - 1];
        }
        value[place] = product[i];
        id[place] = candidate[i];
      }
    }
  }
}

}  // namespace flockwise
