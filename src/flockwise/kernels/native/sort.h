// Sorting the rows of a strip: blocks of eight in registers, then Batcher's odd-even merges.
//
// A merge of blocks of p rows compares rows p, p/2, ..., 1 apart. Two or three of these layers at a time stay in
// registers, because moving values to and from the cache takes longer than comparing them.
#pragma once
#include "lanes.h"

namespace flockwise {

inline void order(Vec& a, Vec& b) {
  const Vec low = smaller(a, b);
  b = larger(a, b);
  a = low;
}

struct Rows {
  float* at;  // one register of columns for each row
  int64_t count;  // a multiple of eight

  Vec get(int64_t row) const { return load(at + row * LANES); }
  void put(int64_t row, Vec value) const { store(at + row * LANES, value); }

  // Calls `meanwhile` now and then.
  template <class Meanwhile>
  void sort(Meanwhile& meanwhile) const {
    for (int64_t first = 0; first < count; first += 8) {
      meanwhile();
      sort_eight(first);
    }
    for (int64_t half = 8; half < count; half *= 2)
      for (int64_t first = 0; first + half < count; first += 2 * half) {
        meanwhile();
        Rows{at + first * LANES, first + 2 * half < count ? 2 * half : count - first}.merge(half);
      }
  }

 private:
  // The rows before and from `half` are sorted. Rows past the end count as infinite: they never move.
  void merge(int64_t half) const {
    if (half == 8) {
      exchange(0, 8);
    } else {
      first_two_layers(half);
      int64_t distance = half / 4;
      for (; distance >= 16; distance /= 4) two_layers(distance);
      if (distance == 8) exchange_all(8);
    }
    last_three_layers();
  }

  void exchange(int64_t row, int64_t distance) const {
    const int64_t stop = row + distance < count - distance ? row + distance : count - distance;
    for (; row < stop; row++) {
      Vec a = get(row), b = get(row + distance);
      order(a, b);
      put(row, a), put(row + distance, b);
    }
  }
  void exchange_all(int64_t distance) const {
    for (int64_t row = distance; row + distance < count; row += 2 * distance) exchange(row, distance);
  }

  void first_two_layers(int64_t half) const {
    const int64_t quarter = half / 2;
    for (int64_t row = 0; row < quarter && row + half < count; row++) {
      Vec a = get(row), b = get(row + quarter), c = get(row + half);
      order(a, c);
      if (row + half + quarter < count) {
        Vec d = get(row + half + quarter);
        order(b, d);
        put(row + half + quarter, d);
      }
      order(b, c);
      put(row, a), put(row + quarter, b), put(row + half, c);
    }
  }

  // Compares rows `distance` apart and then half as far, walking up in steps of that half.
  void two_layers(int64_t distance) const {
    const int64_t step = distance / 2;
    for (int64_t start = 0; start < step; start++) {
      int64_t row = start + step;
      Vec last = get(row);
      for (; row + 4 * step < count; row += 4 * step) {
        Vec a = get(row + step), b = get(row + 2 * step), c = get(row + 3 * step), d = get(row + 4 * step);
        order(a, c), order(b, d);
        order(last, a), order(b, c);
        put(row, last), put(row + step, a), put(row + 2 * step, b), put(row + 3 * step, c);
        last = d;
      }
      if (row + step < count) {
        Vec a = get(row + step);
        if (row + 3 * step < count) {
          Vec b = get(row + 2 * step), c = get(row + 3 * step);
          order(a, c), order(b, c);
          put(row + 2 * step, b), put(row + 3 * step, c);
        }
        order(last, a);
        put(row + step, a);
      }
      put(row, last);
    }
  }

  // Compares rows four, two and one apart; three values are carried on from one group of eight to the next.
  void last_three_layers() const {
    Vec a = get(1), b = get(2), c = get(3);
    int64_t row = 4;
    for (; row + 8 <= count; row += 8) {
      Vec d = get(row), e = get(row + 1), f = get(row + 2), g = get(row + 3);
      Vec h = get(row + 4), i = get(row + 5), j = get(row + 6), k = get(row + 7);
      order(d, h), order(e, i), order(f, j), order(g, k);
      order(b, d), order(c, e), order(f, h), order(g, i);
      order(a, b), order(c, d), order(e, f), order(g, h);
      put(row - 3, a), put(row - 2, b), put(row - 1, c), put(row, d);
      put(row + 1, e), put(row + 2, f), put(row + 3, g), put(row + 4, h);
      a = i, b = j, c = k;
    }
    Vec d = get(row), e = get(row + 1), f = get(row + 2);
    order(b, d), order(c, e);
    order(a, b), order(c, d), order(e, f);
    put(row - 3, a), put(row - 2, b), put(row - 1, c), put(row, d), put(row + 1, e), put(row + 2, f);
  }

  // The network with the fewest exchanges, 19 (Knuth, The Art of Computer Programming 3, 5.3.4).
  void sort_eight(int64_t first) const {
    Vec a = get(first), b = get(first + 1), c = get(first + 2), d = get(first + 3);
    Vec e = get(first + 4), f = get(first + 5), g = get(first + 6), h = get(first + 7);
    order(a, b), order(c, d), order(e, f), order(g, h);
    order(a, c), order(b, d), order(e, g), order(f, h);
    order(b, c), order(f, g), order(a, e), order(d, h);
    order(b, f), order(c, g);
    order(b, e), order(d, g);
    order(c, e), order(d, f);
    order(d, e);
    put(first, a), put(first + 1, b), put(first + 2, c), put(first + 3, d);
    put(first + 4, e), put(first + 5, f), put(first + 6, g), put(first + 7, h);
  }
};

}  // namespace flockwise
