// The fastest way for a convolution.
#pragma once
#include "direct.h"
#include "winograd.h"

namespace flockwise {

// Call visit with the way that suits the convolution.
template <class Visit>
inline void choose_way(const Convolution& conv, Visit visit) {
  const Winograd<EightPoints> eight(conv);
  const Winograd<SixPoints> six(conv);
  if (eight.fits()) visit(eight);
  else if (six.fits()) visit(six);
  else visit(Direct(conv));
}

}  // namespace flockwise
