// What becomes of a register of columns: the mean of the middle values, or of those closest to the median.
#pragma once
#include "columns.h"

namespace flockwise {

// Sums of rows in double: another order of the values changes its last bits only, and these float32 drops.
struct DoubleSum {
  double total[LANES] = {};

  void add(Rows rows, int64_t first, int64_t stop) {
    for (const float *row = rows.at + first * LANES, *end = rows.at + stop * LANES; row < end; row += LANES)
#pragma GCC unroll 16
      for (int lane = 0; lane < LANES; lane++) total[lane] += row[lane];
  }
  Vec times(double factor) const {
    Vec result = {};
    for (int lane = 0; lane < LANES; lane++) result[lane] = static_cast<float>(total[lane] * factor);
    return result;
  }
};

// Two sorted parts of the rows. The n smallest of both together are, as a set, the smaller ones of first[i] and
// second[n - 1 - i]: one step instead of a merge.
struct Halves {
  Rows first, second;
  int64_t a, b;  // how many values; a is b or b + 1

  // Of an odd number: the largest of the smallest b + 1. Otherwise the mean of the middle two.
  Vec median() const {
    if (a != b) {
      Vec middle = first.get(0);
      for (int64_t i = 1; i < a; i++) middle = larger(middle, smaller(first.get(i), second.get(b - i)));
      return middle;
    }
    Vec below = smaller(first.get(0), second.get(b - 1)), above = larger(first.get(0), second.get(b - 1));
    for (int64_t i = 1; i < a; i++) {
      const Vec one = first.get(i), other = second.get(b - 1 - i);
      below = larger(below, smaller(one, other));
      above = smaller(above, larger(one, other));
    }
    return (below + above) * 0.5f;
  }

  // The mean without the lowest and the highest `cut` values, 2 * cut <= b. Overwrites rows.
  Vec trimmed(int64_t cut) const {
    for (int64_t i = 0; i < cut; i++) {
      first.put(i, larger(first.get(i), second.get(cut - 1 - i)));
      first.put(a - 1 - i, smaller(first.get(a - 1 - i), second.get(b - cut + i)));
    }
    DoubleSum total;
    total.add(first, 0, a);
    total.add(second, cut, b - cut);
    return total.times(1.0 / (a + b - 2 * cut));
  }
};

// Drops `cut` values at each end of every column.
struct Middle {
  int64_t count, cut;

  bool is_median() const { return count - 2 * cut <= 2; }
  bool from_halves() const { return is_median() || 2 * cut <= count / 2; }
  int64_t split() const { return from_halves() ? (count + 1) / 2 : count; }

  Vec reduce(Rows first, Rows second) const {
    const Halves halves{first, second, (count + 1) / 2, count / 2};
    if (is_median()) return halves.median();
    if (from_halves()) return halves.trimmed(cut);
    DoubleSum total;
    total.add(first, cut, count - cut);
    return total.times(1.0 / (count - 2 * cut));
  }
};

// The mean of the `kept` values closest to the median, of two equally close ones the lower.
struct Closest {
  int64_t count, kept;

  int64_t split() const { return count; }

  Vec reduce(Rows rows, Rows) const {
    const Vec middle = rows.get((count - 1) / 2) * 0.5f + rows.get(count / 2) * 0.5f;
    // The closest values are neighbours: a value gives way to the one `kept` places on while it is farther.
    for (int64_t slot = 0; slot < kept; slot++) {
      Vec chosen = rows.get(slot), at = chosen;
      for (int64_t place = slot + kept; place < count; place += kept) {
        const Vec next = rows.get(place);
        chosen = (middle - at > next - middle) ? next : chosen;
        at = next;
      }
      rows.put(slot, chosen);
    }
    DoubleSum total;
    total.add(rows, 0, kept);
    return total.times(1.0 / kept);
  }
};

}  // namespace flockwise
