// The Contacts input, and foot contacts with hysteresis. Engine: `UpdateFootContacts`. Left foot, then right foot.
#pragma once

#include "rigpact/vector.hpp"
#include "rigpact/vocabulary/readings.hpp"

namespace rigpact {

inline constexpr int kContactsWidth = 2;

// score: 0 where nothing measured the foot, as the engine has it. other: of the other foot. mean, std: of the state's own slice.
template <class Real>
float contact_input(ContactsSource source, float score, float other, float mean = 0.0f, float std = 1.0f) {
    switch (source) {
        case ContactsSource::soft_scores: break;
        case ContactsSource::binary: return score >= 0.5f ? 1.0f : 0.0f;
        case ContactsSource::zeros: return 0.0f;
        case ContactsSource::swapped_feet: return other;
        case ContactsSource::whitened:
            return static_cast<float>((static_cast<Real>(score) - static_cast<Real>(mean)) / static_cast<Real>(larger(std::fabs(std), 1e-6f)));
    }
    return score;
}

// Where a foot is relative to the floor. `reachable` is false with no walkable floor or a foot too far from the capsule.
struct FootSample {
    double distance_cm;
    double vertical_cm_s;
    double planar_cm_s;
    bool reachable;
};

struct FootContact {
    bool touching = true;
    double on_time_s = 0.0;
    double off_time_s = 0.0;
};

// A change is proposed by thresholds and must last 0.05 s; out of reach, flag and timers stay as they are.
inline FootContact updated_contact(FootContact contact, const FootSample& foot, double frame_time_s) {
    if (!foot.reachable) return contact;
    const bool enters = foot.distance_cm <= 2.5 && foot.vertical_cm_s <= 5.0 && foot.planar_cm_s <= 12.0;
    const bool leaves = foot.distance_cm > 5.0 || foot.vertical_cm_s >= 15.0 || foot.planar_cm_s >= 18.0;
    const bool proposed = contact.touching ? !leaves : enters;
    const double elapsed_s = larger(1e-3, frame_time_s);
    contact.on_time_s = proposed ? contact.on_time_s + elapsed_s : 0.0;
    contact.off_time_s = proposed ? 0.0 : contact.off_time_s + elapsed_s;
    const double lasted_s = proposed ? contact.on_time_s : contact.off_time_s;
    if (proposed != contact.touching && lasted_s >= 0.05) contact.touching = proposed;
    return contact;
}

}  // namespace rigpact
