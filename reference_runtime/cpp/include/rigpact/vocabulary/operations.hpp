// The operations that a plan names by number. Written by `python -m rigpact.reports.engine.codegen` from `CPP_OPERATIONS`.
#pragma once

#include "rigpact/vocabulary/arranging.hpp"
#include "rigpact/vocabulary/converting.hpp"
#include "rigpact/vocabulary/scaling.hpp"
#include "rigpact/vocabulary/timing.hpp"
#include "rigpact/vocabulary/turning.hpp"

namespace rigpact {
namespace vocabulary {

inline constexpr Operation kOperations[] = {
    move, constant, affine, normalise, denormalise, clip, squash, wrap, blend, norm, threshold, rotate,
    relative, compose, convert, difference, integrate, integrate_rotation,
};

}  // namespace vocabulary
}  // namespace rigpact
