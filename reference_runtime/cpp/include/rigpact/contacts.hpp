// The Contacts input, and foot contacts with hysteresis. Engine: `UpdateFootContacts`. Left foot, then right foot.
#pragma once

#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"
#include "rigpact/normalisation.hpp"

namespace rigpact {

// scores: two soft contact scores, or null where nothing measured the feet (zeros, as the engine has it).
template <class Real>
void build_contacts(const ContractView& contract, const Conventions& conventions, const float* scores, float* contacts) {
    const Slice* own = find_slice(contract.state, "Contacts");
    for (int foot = 0; foot < kContactsWidth; ++foot) {
        const float score = scores == nullptr ? 0.0f : scores[foot];
        contacts[foot] = score;
        switch (conventions.contacts_source) {
            case ContactsSource::soft_scores: break;
            case ContactsSource::binary: contacts[foot] = score >= 0.5f ? 1.0f : 0.0f; break;
            case ContactsSource::zeros: contacts[foot] = 0.0f; break;
            case ContactsSource::swapped_feet: contacts[foot] = scores == nullptr ? 0.0f : scores[1 - foot]; break;
            case ContactsSource::whitened:
                if (own == nullptr || own->size != kContactsWidth) break;  // `conventions_defect` refuses this earlier
                contacts[foot] = static_cast<float>(
                    zscored(static_cast<Real>(score), contract.mu_x[own->start + foot], contract.std_x[own->start + foot]));
                break;
        }
    }
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
