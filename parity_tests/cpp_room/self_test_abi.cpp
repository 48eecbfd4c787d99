// SelfTest() of a generated header behind a C ABI: Python plays the engine's loader and hands over what it parsed.
#include "contract.hpp"

extern "C" unsigned rigpact_self_test(const rigpact::EngineSide* engine, const char** what, int* index) {
    const rigpact::SelfTestResult result = rigpact_contract::SelfTest(*engine);
    *what = result.what;
    *index = result.index;
    return result.failed;
}
