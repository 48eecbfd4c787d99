#include <cstdio>
#include "contract.hpp"
#include "wolf.hpp"
int main() {
    rigpact_contract::State s;
    wolf::State other;
    const float sticks[] = {1.0f, 3.0f, 2.0f};
    for (float x : sticks) {
        s.stick[0] = s.stick[1] = other.stick[0] = other.stick[1] = x;
        rigpact_contract::step(s, 0);
        wolf::step(other, 0);
        std::printf("%g %g\n", static_cast<double>(s.memory[0]), static_cast<double>(other.memory[1]));
    }
}
